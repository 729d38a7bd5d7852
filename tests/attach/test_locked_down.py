"""Where the kernel allows less, or shows other numbers: what works there, and what is said of what does not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attach.driver import PROGRAM, answer_of, in_state
from tests.cli.driver import dualdbg
from tests.support import require, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give capabilities away")


@pytest.mark.parametrize("command", ["stacks", "attach"])
def test_without_the_capability_to_trace(command: str) -> None:
    setpriv = require(shutil.which("setpriv"), "setpriv (util-linux)")
    without = [setpriv, "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    with in_state("asleep") as process:
        done = dualdbg(command, str(process.pid), prefix=without)
        assert done.status == 3
        for part in ("CAP_SYS_PTRACE", "--cap-add SYS_PTRACE", "securityContext", "sidecar"):
            assert part in done.stderr, done
        assert process.poll() is None


def test_a_program_of_ones_own_needs_no_capability() -> None:
    setpriv = require(shutil.which("setpriv"), "setpriv (util-linux)")
    without = [setpriv, "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    done = dualdbg(
        "run", "--json", "-b", "py:f", "--batch", "-x", "bt", "-c", "def f():\n    pass\nf()", prefix=without
    )
    assert [event["reason"] for event in done.of("stopped")] == ["breakpoint"], done


def test_python_control_of_a_process_in_a_container() -> None:
    """Its thread ids are others in there."""
    unshare = require(shutil.which("unshare"), "unshare (util-linux)")
    probe = subprocess.run([unshare, "--mount", "--pid", "--fork", "true"], capture_output=True, text=True)
    require(probe.returncode == 0, f"namespaces ({probe.stderr.strip()})", outside=True)
    command = [unshare, "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command += [sys.executable, str(PROGRAM), "busy", "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as outer:
        try:
            assert outer.stdout is not None and outer.stdout.readline()
            children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
            pid = int(wait_until(lambda: children.read_text().split(), what="the child")[0])
            words = (
                "--no-stacks",
                "--batch",
                "--json",
                "-b",
                "py:tick",
                "-x",
                "continue",
                "-x",
                "bt",
                "-x",
                "del",
            )
            done = dualdbg("attach", str(pid), *words)
            events = [json.loads(line) for line in done.stdout.splitlines()]
            stops = [event for event in events if event["event"] == "stopped"]
            assert [stop["reason"] for stop in stops] == ["pause", "breakpoint"], done
            assert stops[1]["thread"]["tid"] == pid
            [stack] = done.of("stack")
            assert "busy" in [frame["function"] for frame in stack["frames"]]
            assert "pydevd" not in answer_of(outer)
        finally:
            outer.kill()
