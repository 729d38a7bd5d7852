"""The dashboard on a run of several processes: the list of them, and which one is shown."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dualdbg.console.console import View
from dualdbg.model import State
from dualdbg.session.inferiors import launch_group
from dualdbg.session.options import Options
from dualdbg.session.session import Session
from dualdbg.target.launcher import Launch
from dualdbg.tui.base import Subscribe

from .driver import Screen, on_screen

FAMILY = """\
import os


def work(number):
    return number * 2


children = []
joined, join = os.pipe()
for number in (1, 2):
    pid = os.fork()
    if not pid:
        os.write(join, b"1")
        os._exit(work(number))
    os.read(joined, 1)  # processes are numbered in the order in which they join
    children.append(pid)
for pid in children:
    os.waitpid(pid, 0)
"""


def test_a_child_that_stops_is_shown_and_processes_are_chosen(tmp_path: Path) -> None:
    script = tmp_path / "family.py"
    script.write_text(FAMILY)

    async def start(subscribe: Subscribe) -> Session:
        with open(os.devnull, "r+") as nowhere:
            streams = {name: nowhere.fileno() for name in ("stdin", "stdout", "stderr")}
            what = Launch(python=sys.executable, script=str(script), **streams)  # type: ignore[arg-type]
            return await launch_group(
                "python", what, Options(breakpoints=("family.py:5",)), None, 0.0, subscribe
            )

    async def work(screen: Screen) -> None:
        app, view = screen.app, screen.app.views.threads

        def states() -> dict[int, State]:
            assert app.console_ is not None
            return {one.process.number: one.session.state for one in app.console_.views}

        def listed() -> list[str]:
            return [screen.lines(view)[at] for at, row in enumerate(view.rows) if isinstance(row.thing, View)]

        both = {1: State.RUNNING, 2: State.PYTHON_STOPPED, 3: State.PYTHON_STOPPED}
        await screen.until(lambda: app.console_ is not None and states() == both, "both children at work")
        await screen.stopped()
        assert any("work" in line for line in screen.lines(app.views.stack))
        await screen.press("3")
        await screen.until(lambda: len(listed()) == 3, "three processes")
        assert sum("stopped" in line for line in listed()) == 2
        assert "running" in listed()[0]
        view.cursor = 0
        await screen.press("enter")
        await screen.until(lambda: "process 1: running" in screen.text(), "the parent")
        await screen.press("p", "p")
        await screen.until(lambda: "process 3: stopped" in screen.text(), "the second child")
        await screen.stopped()
        await screen.press("P")
        await screen.until(lambda: "process 2: stopped" in screen.text(), "the first child")
        await screen.command("process 3")
        await screen.until(lambda: "process 3: stopped" in screen.text(), "the second child")
        await screen.stopped()
        await screen.until(lambda: "number = 2" in screen.text(), "the second child's variables")
        await screen.press("escape", "f5")
        await screen.until(lambda: "process 2: stopped" in screen.text(), "the other that still stands")
        await screen.stopped()
        await screen.until(lambda: "number = 1" in screen.text(), "the first child's variables")
        await screen.press("f5")
        await screen.until(lambda: set(states().values()) == {State.EXITED}, "the end of all")

    on_screen(work, folder=tmp_path, start=start)
