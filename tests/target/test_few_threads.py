"""A process that can start no threads: debugpy is not waited for, and where it cannot be had that is said once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests import rows, support
from tests.cli.driver import DUALDBG, Done, dualdbg, environment
from tests.cli.surroundings import as_other_user
from tests.support import require

OTHER_USER = 60_000 + os.getpid() % 1000  # root may start any number of threads
LIMITED = f"""\
import os, resource, time
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
os.setuid({OTHER_USER})
"""


@pytest.fixture(autouse=True)
def root() -> None:
    require(os.geteuid() == 0 or None, "to become another user needs root", outside=True)


def test_stops_steps_and_values_do_without(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(LIMITED + "x = 1\ny = [1, 2]\nz = 3\nprint('end')\n")
    words = ["-b", "program.py:5", "-x", "print x", "-x", "next", "-x", "print y", "-x", "continue"]
    done = dualdbg("run", "--batch", *words, path, cwd=tmp_path)
    assert done.status == 0, done
    assert "did not answer" not in done.stdout + done.stderr and "Traceback" not in done.stderr
    assert "[1, 2]" in done.stdout and "end" in done.stdout


# The first differ in who meets the limit: the target, the target and dualdbg, the target when it begins to be traced.
LIMITS = [5, 6, 9, 12, 1, 2, 3, 4, 7, 8, 10, 11]


@pytest.mark.parametrize("limit", rows.some(LIMITS, 2))
def test_each_limit_of_processes_is_told_with_what_to_type(limit: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="few-processes-", dir="/tmp"))
    folder.chmod(0o777)
    (folder / "program.py").write_text("x = 1\nprint(x)\n")
    words = ["run", "--batch", "-b", "program.py:2", "-x", "bt", str(folder / "program.py")]
    command = as_other_user(f"--nproc={limit}").around([*DUALDBG, *words], folder)
    try:
        done = subprocess.run(
            command, cwd="/", env=environment(), capture_output=True, text=True, timeout=patient(120)
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if done.returncode == 0:  # it was enough: some machines need fewer
        assert "program.py:2" in done.stdout
        return
    # Where it is met by gdb or the program in a session that has begun, it is told there.
    lines = (done.stderr or done.stdout).splitlines()
    told = [number for number, line in enumerate(lines) if line.startswith("dualdbg: ")]
    assert told or not done.stderr, done
    assert all(lines[number + 1].startswith("  ulimit -u") for number in told), done
    assert any(line.startswith("  ulimit -u") for line in lines), done


@pytest.mark.parametrize("threads", rows.some([1, 3, 2], 1))
def test_an_attach_says_why_there_is_no_python_control(threads: int) -> None:
    """``threads``: that the process may have; pydevd needs three of its own."""
    program = (
        "import os, time\nprint('ready', flush=True)\nwhile True:\n    os.getsid(0)\n    time.sleep(0.01)\n"
    )
    folder = Path(tempfile.mkdtemp(prefix="few-threads-", dir="/tmp"))
    command = as_other_user(f"--nproc={threads}").around([sys.executable, "-c", program], folder)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:

        def attach(*words: str) -> Done:
            return dualdbg("attach", "--batch", "--no-stacks", *words, str(process.pid))

        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            for _ in range(2):  # nothing of the first is in the way of the second
                done = attach("-b", "py:tick", "-x", "continue")
                said = done.stdout + done.stderr
                assert done.status == 3 and "nothing would stop the program" in said, done
                assert said.count("dualdbg: Python control is not possible") == 1, done
                assert "start new thread" in said and "another Python debugger" not in said, done
            assert "Breakpoint 1: native" in attach("-b", "getsid", "-x", "continue").stdout
            assert process.poll() is None
        finally:
            process.kill()
            shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("words", [["run", "--batch"], ["dap", "--listen", "0"]], ids=["run", "dap"])
def test_a_signal_ends_us_when_no_thread_is_to_be_had(words: list[str], number: signal.Signals) -> None:
    folder = Path(tempfile.mkdtemp(prefix="no-threads-", dir="/tmp"))
    folder.chmod(0o777)
    (folder / "program.py").write_text("import time\nprint('running', flush=True)\ntime.sleep(1000)\n")
    program = [str(folder / "program.py")] if "run" in words else []
    command = as_other_user("--nproc=1000").around([*DUALDBG, *words, *program], folder)
    try:
        with subprocess.Popen(
            command,
            cwd="/",
            env=environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                while "running" not in line and "waiting" not in line:
                    assert line, "it has ended"
                    line = process.stdout.readline()
                support.limit_processes(process.pid)
                process.send_signal(number)
                status = process.wait(patient(60))
                said = process.stdout.read()
                assert status == 128 + number, said
                assert "Traceback" not in said
            finally:
                process.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
