"""kill -9 of each process of a session, in each state: nothing is left, and what died is named.

There is no adapter process to kill: the session itself plays debugpy's adapter.
"""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.cli.driver import JsonRun, json_run, terminal
from tests.support import name_of, wait_until

pytestmark = pytest.mark.slow

PROGRAM = """\
import os
x = 1
os.getsid(0)
print("ready", flush=True)
while True:
    x += 1
"""


def running(run: JsonRun) -> None:
    run.next("output")


def at_a_python_stop(run: JsonRun) -> None:
    assert run.next("stopped")["origin"] == "python"


def at_a_native_stop(run: JsonRun) -> None:
    assert run.next("stopped")["origin"] == "python"
    run.send("tbreak getsid")
    run.send("continue")
    assert run.next("stopped")["origin"] == "native"


STATES: dict[str, tuple[list[str], Callable[[JsonRun], None]]] = {
    "running": ([], running),
    "at a Python stop": (["--stop-on-entry"], at_a_python_stop),
    "at a native stop": (["--stop-on-entry"], at_a_native_stop),
}


def start(state: str, path: Path) -> JsonRun:
    options, reach = STATES[state]
    run = JsonRun(*options, path)
    reach(run)
    return run


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def family_of(run: JsonRun) -> list[psutil.Process]:
    """dualdbg, gdb, the target and whatever else belongs to the session."""
    pid = next(event["pid"] for event in run.seen if event["event"] == "session")
    family = run.family()
    assert pid in [process.pid for process in family]
    assert "gdb" in [name_of(process) for process in family]
    return family


def all_end(family: list[psutil.Process]) -> None:
    wait_until(lambda: not any(_lives(process) for process in family), 60, f"the end of {family}")


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("state", STATES)
def test_dualdbg_is_killed(state: str, program: Path) -> None:
    options, reach = STATES[state]
    with json_run(*options, program) as run:
        reach(run)
        family = family_of(run)
        run.process.kill()
        all_end(family)


@pytest.mark.parametrize("state", STATES)
def test_gdb_is_killed(state: str, program: Path) -> None:
    options, reach = STATES[state]
    with json_run(*options, program) as run:
        reach(run)
        family = family_of(run)
        run.gdb().kill()
        assert run.finish() == 3
        errors = [event["message"] for event in run.seen if event["event"] == "error"]
        assert any("gdb is gone" in message and "signal 9" in message for message in errors), errors
        all_end(family)


@pytest.mark.parametrize("state", STATES)
def test_the_target_is_killed(state: str, program: Path) -> None:
    options, reach = STATES[state]
    with json_run(*options, program) as run:
        reach(run)
        family = family_of(run)
        os.kill(next(event["pid"] for event in run.seen if event["event"] == "session"), signal.SIGKILL)
        assert run.finish() == 128 + signal.SIGKILL
        assert run.seen[-1] == {"event": "exited", "code": None, "signal": signal.SIGKILL}
        all_end(family)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_dualdbg_is_asked_to_end(state: str, number: signal.Signals, program: Path) -> None:
    options, reach = STATES[state]
    with json_run(*options, program) as run:
        reach(run)
        family = family_of(run)
        run.process.send_signal(number)
        assert run.finish() == 128 + number
        all_end(family)


def test_dualdbg_is_killed_and_gdb_does_not_end(program: Path) -> None:
    """Here somebody has stopped it; one that waited on a futex for ever was seen."""
    with json_run(program) as run:
        running(run)
        family = family_of(run)
        run.gdb().send_signal(signal.SIGSTOP)
        run.process.kill()
        all_end(family)


def test_ctrl_c_without_a_terminal_pauses_first(program: Path) -> None:
    with json_run(program) as run:
        running(run)
        run.process.send_signal(signal.SIGINT)
        assert run.next("stopped")["reason"] == "pause"
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == 128 + signal.SIGINT


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_as_it_was_before_the_prompt(number: signal.Signals, program: Path) -> None:
    with terminal("run", "--stop-on-entry", program) as one:
        before = termios.tcgetattr(one.child.child_fd)
        one.prompt()
        assert termios.tcgetattr(one.child.child_fd) != before
        one.child.kill(number)
        # pexpect reads no more of a process that has ended: what is written behind it comes a moment later.
        written = b""
        while b"\x1b[?2004l" not in written:
            written += os.read(one.child.child_fd, 1024)
        wait_until(lambda: termios.tcgetattr(one.child.child_fd) == before, 20, "the modes as they were")
