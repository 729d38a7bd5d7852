"""The dashboard on targets that it did not start, and on those that are lost: attached processes, cores, a dead gdb."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from dualdbg.errors import EngineError
from dualdbg.model import State
from dualdbg.session.attaching import attach
from dualdbg.session.options import Options
from dualdbg.session.post_mortem import open_core
from dualdbg.session.session import Session
from dualdbg.system.patience import patient
from dualdbg.tui.screens.picker import Candidate, ProcessPicker
from tests.support import is_running, require, wait_until

from .driver import Screen, on_screen
from .terminal import RealTerminal

WAITING = """\
import threading

never = threading.Event()


def wait_for_ever(depth):
    if depth:
        return wait_for_ever(depth - 1)
    print("ready", flush=True)
    never.wait()


threading.Thread(target=wait_for_ever, args=(2,), name="waiter", daemon=True).start()
never.wait()
"""


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[int]:
    """The number of a process that waits for ever in two threads."""
    script = tmp_path / "waiting.py"
    script.write_text(WAITING)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process.pid
        finally:
            process.kill()


def test_an_attached_process_is_shown_and_runs_on(tmp_path: Path, waiting: int) -> None:
    async def start(subscribe: Callable[[Session], None]) -> Session:
        return await attach(waiting, Options(), subscribe=subscribe)

    async def work(screen: Screen) -> None:
        await screen.stopped()
        text = screen.text()
        assert "stopped natively" in text
        assert "paused (attached)" in text
        views = screen.app.views
        assert any("waiting.py:14" in line for line in screen.lines(views.stack))
        await screen.press("3")
        await screen.until(lambda: len(views.threads.rows) >= 2, "the threads")
        await screen.press("8")
        await screen.until(lambda: "elsewhere" in screen.text(), "the empty pane")
        await screen.press("1", "q")
        await screen.until(lambda: not screen.app.is_running, "the end")

    on_screen(work, folder=tmp_path, start=start)
    assert is_running(waiting)
    assert "TracerPid:\t0" in Path(f"/proc/{waiting}/status").read_text()


def test_a_core_is_looked_at_and_does_not_run(tmp_path: Path, waiting: int) -> None:
    gcore = require(shutil.which("gcore"), "gcore (it comes with gdb)")
    quiet = subprocess.DEVNULL
    subprocess.run(
        [gcore, "-o", str(tmp_path / "core"), str(waiting)], check=True, stdout=quiet, stderr=quiet
    )

    async def start(subscribe: Callable[[Session], None]) -> Session:
        return await open_core(str(tmp_path / f"core.{waiting}"), Options(), subscribe=subscribe)

    async def work(screen: Screen) -> None:
        await screen.stopped()
        views = screen.app.views
        assert any("waiting.py:14" in line for line in screen.lines(views.stack))
        assert "debugpy waits" not in screen.text()
        await screen.press("3")
        await screen.until(lambda: len(views.threads.rows) == 2, "the threads")
        assert any("waiter" in line for line in screen.lines(views.threads))
        await screen.press("end", "enter")
        await screen.stopped()
        stack = screen.lines(views.stack)
        assert sum("wait_for_ever" in line for line in stack) == 3
        await screen.press("2")
        views.stack.cursor = next(line for line, text in enumerate(stack) if "wait_for_ever" in text)
        await screen.stopped()
        await screen.until(
            lambda: any(line.strip() == "depth = 0 int" for line in screen.lines(views.variables)),
            "the local",
        )
        assert views.source.current == 10
        await screen.press("c")
        await screen.until(lambda: "it cannot run" in screen.said, "the refusal")
        await screen.command("break waiting.py:3")
        await screen.until(lambda: "a breakpoint needs a process" in screen.said, "the refusal")
        assert screen.session.state is State.NATIVE_STOPPED

    on_screen(work, folder=tmp_path, start=start)


def test_a_gdb_that_dies_is_a_message_and_no_crash(tmp_path: Path, waiting: int) -> None:
    async def start(subscribe: Callable[[Session], None]) -> Session:
        return await attach(waiting, Options(), subscribe=subscribe)

    async def work(screen: Screen) -> None:
        await screen.stopped()
        assert screen.session.native.pid is not None
        os.kill(screen.session.native.pid, signal.SIGKILL)
        await screen.until(lambda: "gdb is gone" in screen.text(), "the message")
        await screen.press("c", "n", "u", "1", "m")
        await screen.command("bt")
        await screen.until(lambda: "has ended (lost)" in screen.said, "the refusal")
        assert screen.app.is_running

    on_screen(work, folder=tmp_path, start=start)
    assert is_running(waiting)


def test_an_error_of_an_engine_is_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(screen: Screen) -> None:
        await screen.stopped()

        async def refused(*_arguments: object) -> None:
            raise EngineError("gdb did not answer -stack within 30 s", "detach, and attach again")

        monkeypatch.setattr(screen.session.inspector, "stack", refused)
        assert screen.app.loader is not None
        screen.app.loader.reload()
        await screen.until(lambda: "did not answer -stack" in screen.said, "the message")
        monkeypatch.undo()
        await screen.go_on("n")
        assert screen.app.views.source.current == 2

    code = tmp_path / "two.py"
    code.write_text("one = 1\ntwo = 2\nthree = 3\n")
    on_screen(work, folder=tmp_path, script=code, stop_on_entry=True)


def test_the_picker_gives_what_can_be_attached_to() -> None:
    rows = [
        Candidate(10, "python train.py", "ann", "3.11", True, 4, 0.5, 90),
        Candidate(11, "python serve.py", "bob", "3.12", False, 1, 0.0, 7200, "process 11 is another user's"),
    ]

    async def main(*keys: str) -> int | None:
        app = ProcessPicker(lambda: rows)
        async with app.run_test(size=(90, 20)) as pilot:
            await pilot.press(*keys)
            if app.is_running:
                await pilot.press("escape")
        return app.return_value

    import asyncio

    assert asyncio.run(main("enter")) == 10
    assert asyncio.run(main(*"serve", "enter")) is None
    assert asyncio.run(main("down", "enter")) is None
    assert asyncio.run(main(*"nothing of that", "enter")) is None


# -- in a terminal ---------------------------------------------------------------------------------


def terminal_of(tmp_path: Path, *words: str, columns: int = 100, lines: int = 30) -> RealTerminal:
    environment = {
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "COLUMNS": "80",  # of a shell that exports them
        "LINES": "24",
    }
    return RealTerminal([sys.executable, "-m", "dualdbg", *words], columns, lines, environment)


def test_a_lost_terminal_lets_an_attached_process_run_on(tmp_path: Path, waiting: int) -> None:
    terminal = terminal_of(tmp_path, "attach", "--tui")
    try:
        terminal.until(lambda: terminal.shows("type to filter"), "the picker")
        terminal.send(*str(waiting))
        terminal.until(lambda: terminal.shows(f"  {waiting} "), "the process")
        terminal.until(lambda: not terminal.shows("type to filter"), "the filter")
        terminal.send("enter")
        terminal.until(lambda: terminal.shows("stopped natively"), "the stop")
        terminal.hang_up()
        assert terminal.wait(patient(90.0)) == 128 + signal.SIGHUP
    finally:
        terminal.close()
    status = Path(f"/proc/{waiting}/status")
    wait_until(lambda: "TracerPid:\t0\n" in status.read_text(), 30.0, "gdb lets go of the process")
    assert "State:\tT" not in status.read_text()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_an_ended_dashboard_leaves_the_terminal_clean_and_the_process_running(
    tmp_path: Path, waiting: int, number: signal.Signals
) -> None:
    """Signals may come from `kill`: the terminal is there still, and Ctrl-C is a key there."""
    terminal = terminal_of(tmp_path, "attach", "--tui", str(waiting))
    try:
        before = termios.tcgetattr(terminal.master)
        terminal.until(lambda: terminal.shows("stopped natively"), "the stop")
        assert terminal.screen.alternate
        assert termios.tcgetattr(terminal.master) != before
        os.kill(terminal.pid, number)
        assert terminal.wait(patient(90.0)) == 128 + number
        terminal.until(lambda: not terminal.screen.alternate, "the terminal as it was")
        terminal.until(lambda: termios.tcgetattr(terminal.master) == before, "its modes")
        assert terminal.screen.modes.show_cursor
        assert not terminal.screen.modes.mouse
    finally:
        terminal.close()
    status = Path(f"/proc/{waiting}/status")
    wait_until(lambda: "TracerPid:\t0\n" in status.read_text(), 30.0, "gdb lets go of the process")
    assert is_running(waiting)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_an_ended_choice_of_a_process_leaves_the_terminal_clean(
    tmp_path: Path, number: signal.Signals
) -> None:
    terminal = terminal_of(tmp_path, "attach", "--tui")
    try:
        before = termios.tcgetattr(terminal.master)
        terminal.until(lambda: terminal.shows("type to filter"), "the picker")
        os.kill(terminal.pid, number)
        assert terminal.wait(patient(90.0)) == 128 + number
        terminal.until(lambda: not terminal.screen.alternate, "the terminal as it was")
        terminal.until(lambda: termios.tcgetattr(terminal.master) == before, "its modes")
    finally:
        terminal.close()


def test_sigint_from_outside_ends_the_program_and_ctrl_c_does_not(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("one = 1\ntwo = 2\nthree = 3\n")
    terminal = terminal_of(tmp_path, "run", "--tui", "-b", "program.py:2", str(script))
    try:
        terminal.until(lambda: terminal.shows("breakpoint 1, thread"), "the stop")
        below = psutil.Process(terminal.pid).children(recursive=True)
        program = next(one.pid for one in below if str(script) in one.cmdline()[1:2])
        terminal.send("ctrl+c", "f10")
        terminal.until(lambda: terminal.shows("▶3"), "the next line")
        os.kill(terminal.pid, signal.SIGINT)
        assert terminal.wait(patient(90.0)) == 128 + signal.SIGINT
    finally:
        terminal.close()
    wait_until(lambda: not is_running(program), 30.0, "the end of the program")


def test_quitting_a_stopped_program_is_no_failure(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("\n".join(f"value_{number} = {number}" for number in range(1, 60)) + "\n")
    terminal = terminal_of(tmp_path, "run", "--tui", "-b", "program.py:44", str(script), columns=40, lines=20)
    try:
        terminal.until(lambda: terminal.shows("▶44"), "the current line, in 40 columns")
        terminal.resize(110, 30)
        terminal.until(lambda: terminal.shows("breakpoint 1, thread"), "the whole status line")
        terminal.until(lambda: terminal.shows("▶44"), "the current line, in 110 columns")
        terminal.resize(40, 20)
        terminal.until(lambda: terminal.shows("Sta  Var"), "the small layout")
        terminal.until(lambda: terminal.shows("▶44"), "the current line, in 40 columns again")
        terminal.send("ctrl+q")
        terminal.until(lambda: terminal.shows("Quit?"), "the question")
        terminal.send("enter")
        assert terminal.wait(patient(90.0)) == 0
        assert not terminal.screen.alternate
        assert terminal.screen.modes.show_cursor
    finally:
        terminal.close()


def test_what_was_printed_before_its_pane_was_shown_is_whole_there(tmp_path: Path) -> None:
    """The program's terminal has 80 columns until then; its pane has fewer. Alt and the pane's number lead there."""
    line = "".join(f"{number:4}" for number in range(20))  # all 80 columns
    script = tmp_path / "program.py"
    script.write_text(
        f"import os, sys, tty\nprint({line!r})\nx = 1\ntty.setraw(0)\nprint('ready', end='', flush=True)\n"
        "print('got', list(os.read(0, 9)), end='', flush=True)\nos.read(0, 1)\n"
    )
    terminal = terminal_of(tmp_path, "run", "--tui", "-b", "program.py:3", str(script), columns=60, lines=20)

    def output() -> str:
        return "".join(terminal.text().partition(" Program")[2].partition(" stopped in")[0].split())

    try:
        terminal.until(lambda: terminal.shows("▶3"), "the stop")
        terminal.send("\x1b8")
        terminal.until(lambda: output() == line.replace(" ", ""), "all that was printed")
        terminal.send("f5")
        terminal.until(lambda: terminal.shows("ready") and terminal.shows("running"), "the question")
        terminal.send("\x1b3")
        terminal.until(lambda: terminal.shows("got [27, 51]"), "the keys")
    finally:
        terminal.close()
