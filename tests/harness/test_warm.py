"""What `tests.warm` starts is the process that a plain start would make."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests import warm
from tests.cli.driver import DUALDBG, environment

SHOWS = "import os, sys; print(os.getcwd(), os.environ['MARK'], os.listdir('/proc/self/fd'), sys.argv)"


@pytest.mark.processes
def test_warm_start_has_the_folder_the_variables_and_no_more_descriptors(tmp_path: Path) -> None:
    def shown(start: type[subprocess.Popen[str]]) -> tuple[str, str]:
        words = [*DUALDBG, "run", "--batch", "-c", SHOWS, "a b"]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = start(words, cwd=tmp_path, env=environment({"MARK": "1"}), text=True, **pipes)
        output, errors = process.communicate()
        said = next(line for line in output.splitlines() if line.startswith(str(tmp_path)))
        return said, errors

    assert shown(warm.Popen) == shown(subprocess.Popen)


@pytest.mark.processes
def test_warm_start_reports_how_the_process_ended() -> None:
    assert warm.run([*DUALDBG, "nonsense"], env=environment(), text=True).returncode == 2
    with warm.Popen([*DUALDBG, "dap", "--listen", "0"], env=environment(), stderr=subprocess.PIPE) as process:
        assert process.stderr.readline() and process.poll() is None
        process.kill()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.processes
@pytest.mark.parametrize("more", [{}, {"PYTHONWARNINGS": "error"}, {"LC_ALL": "C"}])
def test_what_the_start_of_the_interpreter_reads_is_never_started_warm(more: dict[str, str]) -> None:
    with warm.Popen(
        [*DUALDBG, "dap"], env=environment(more), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        words = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
        assert ("tests.warm" in words) is (not more)
        assert (Path(f"/proc/{process.pid}/status").read_text().find(f"PPid:\t{os.getpid()}\n") > 0) is bool(
            more
        )
        process.kill()
