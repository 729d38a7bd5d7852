"""``--dualdbg-break``: the same run of pytest, under the debugger."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.plugins.pytest_plugin.beginning import MARK
from dualdbg.system.patience import patient
from tests import warm
from tests.pytest_plugin.driver import run_pytest
from tests.tui.terminal import RealTerminal

SUITE = {"test_it.py": "def test_a():\n    number = 5\n    assert number == 6\n"}


def test_the_prompt_opens_at_the_place(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, SUITE, "--dualdbg-break", "raise:AssertionError", stdin="locals\ncontinue\n")
    assert "AssertionError" in done.out and "number = 5" in done.out
    assert done.status == 1
    assert "1 failed" in done.out


CRASH = "import ctypes\ndef test_a():\n    number = 5\n    ctypes.string_at(0)\n"


@pytest.mark.parametrize(
    ("suite", "stdin", "status"),
    [
        (SUITE["test_it.py"], "", 3),  # the end of standard input at the breakpoint
        (SUITE["test_it.py"], "quit\n", 3),
        (SUITE["test_it.py"], "kill\n", 128 + 9),
        (SUITE["test_it.py"], "continue\n", 1),
        (SUITE["test_it.py"].replace("6", "5"), "continue\n", 0),
        (CRASH, "continue\n", 3),  # at the SIGSEGV
        (CRASH, "continue\ncontinue\n", 128 + 11),
    ],
)
def test_a_run_that_did_not_finish_is_no_success(tmp_path: Path, suite: str, stdin: str, status: int) -> None:
    done = run_pytest(tmp_path, {"test_it.py": suite}, "--dualdbg-break", "test_it.py:3", stdin=stdin)
    assert done.status == status, done.out + done.err
    assert "Breakpoint 1" in done.out
    assert done.out.count("SIGSEGV, Segmentation fault") == (suite == CRASH)  # one stop
    assert "Current thread" not in done.err  # faulthandler's


def test_what_is_missing_is_said_in_options_of_pytest(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, SUITE, "--dualdbg-ui=tui")
    assert done.status == 4 and "leave --dualdbg-ui=tui away" in done.err
    empty = {"PATH": str(tmp_path / "nothing")}
    done = run_pytest(tmp_path, SUITE, "--dualdbg-break=test_it.py:3", env=empty)
    assert done.status == 4 and "apt-get install gdb" in done.err and "--gdb" not in done.err


# pydevd hears that all is set, and traces the threads of the program a while after: as on a busy machine.
SLOW_TRACING = """\
import sys, time
def make_slow(event, arguments):
    if event == "socket.connect" and "pydevd" in sys.modules:
        debugger = sys.modules["pydevd"].PyDB
        original = debugger.start_auxiliary_daemon_threads
        debugger.start_auxiliary_daemon_threads = lambda self: (time.sleep(1), original(self))[1]
sys.addaudithook(make_slow)
"""


def test_an_editor_is_waited_for(tmp_path: Path) -> None:
    """Until its breakpoints stop, which is after it has set them."""
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "slow_tracing.py").write_text(SLOW_TRACING)
    (tmp_path / "test_it.py").write_text(SUITE["test_it.py"])
    environment = {name: value for name, value in os.environ.items() if name != MARK}
    run = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "slow_tracing",
            "--dualdbg-ui=editor",
            "-p",
            "no:cacheprovider",
        ],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    assert run.stdout.readline().startswith(f"process {run.pid} waits for a debugger")
    attach = ["attach", str(run.pid), "--no-stacks", "-b", "test_it.py:3"]
    steps = ["-x", "continue", "-x", "print number", "-x", "continue", "--batch"]
    done = warm.run(
        [sys.executable, "-m", "dualdbg", *attach, *steps],
        cwd=tmp_path,
        text=True,
        timeout=patient(120),
    )
    assert "(dualdbg) print number\n5\n" in done.stdout, done.stdout + done.stderr
    with run.stdout:
        assert "1 failed" in run.stdout.read()
    assert run.wait(patient(60)) == 1


def test_the_dashboard_opens_at_the_place(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_it.py").write_text(SUITE["test_it.py"])
    without = [
        word for name in (MARK, "PYTEST_XDIST_WORKER") for word in ("-u", name)
    ]  # of the run of this test
    command = ["/usr/bin/env", *without, sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    options = ["-p", "no:hypothesispytest", "--dualdbg-ui=tui", "--dualdbg-break=raise:AssertionError"]
    settings = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    terminal = RealTerminal([*command, *options, str(tmp_path)], 120, 40, {**settings, "PYTEST_ADDOPTS": ""})
    try:
        terminal.until(lambda: terminal.screen.alternate and terminal.shows("number = 5"), "the stop")
        terminal.until(lambda: terminal.shows("assert number == 6") and terminal.shows("test_a"), "its place")
        terminal.send("ctrl+q")
        terminal.until(lambda: terminal.shows("Quit?"), "the question")
        terminal.send("enter")
        terminal.until(lambda: not terminal.screen.alternate, "the terminal as it was")
        terminal.wait(patient(90.0))
    finally:
        terminal.close()
