"""Runs the dashboard without a terminal on a real session, and waits for what it shows."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from textual.pilot import Pilot

from dualdbg.model import State
from dualdbg.session.options import Options
from dualdbg.session.session import Session
from dualdbg.session.start import launch
from dualdbg.symbols.torch.operators import OperatorTable
from dualdbg.system.patience import patient
from dualdbg.target.launcher import Launch
from dualdbg.tui.app import Dashboard, Start, Wishes
from dualdbg.tui.terminal.pty import ENVIRONMENT, ProgramTerminal
from dualdbg.tui.widgets.line_view import LineView

DEADLINE = patient(300.0)
T = TypeVar("T")


class Screen:
    """The dashboard under test."""

    def __init__(self, app: Dashboard, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def session(self) -> Session:
        assert self.app.console_ is not None
        return self.app.console_.session

    async def until(self, condition: Callable[[], bool], what: str = "") -> None:
        """Wait until it holds; fails with what is on the screen when it never does."""
        deadline = asyncio.get_running_loop().time() + DEADLINE
        while not condition():
            assert asyncio.get_running_loop().time() < deadline, f"{what or 'it'} never came\n{self.text()}"
            await asyncio.sleep(0.01)
        await self.pilot.pause()

    async def stopped(self, epoch: int = 0) -> None:
        """Wait for a complete screen of a stop that is later than ``epoch``."""

        def complete() -> bool:
            app = self.app
            if app.failure is not None:
                raise app.failure
            if app.loader is None or app.console_ is None:
                return False
            session = self.session
            stopped = session.state in (State.PYTHON_STOPPED, State.NATIVE_STOPPED)
            return stopped and session.epoch > epoch and app.loader.complete.is_set()

        await self.until(complete, "the stop")

    async def ended(self) -> None:
        await self.until(lambda: self.app.console_ is not None and self.session.ended.is_set(), "the end")

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def go_on(self, *keys: str) -> None:
        """Press keys that let the target run, and wait for the next stop."""
        epoch = self.session.epoch
        await self.press(*keys)
        await self.stopped(epoch)

    async def type(self, text: str) -> None:
        """Type letters and Enter where the cursor is."""
        await self.pilot.press(*(_NAMES.get(letter, letter) for letter in text), "enter")
        await self.pilot.pause()

    async def command(self, line: str) -> None:
        """A command at the prompt."""
        self.app.show_pane("prompt")
        await self.pilot.pause()
        await self.type(line)

    def lines(self, view: LineView) -> list[str]:
        return [view.text(line) for line in range(view.line_count())]

    @property
    def said(self) -> str:
        return "\n".join(self.lines(self.app.views.prompt.log_))

    def text(self) -> str:
        """What is on the screen, as a terminal would show it."""
        size = self.app.size
        strips = self.app.screen._compositor.render_strips(size)
        return "\n".join(strip.text.rstrip() for strip in strips[: size.height])


_NAMES = {" ": "space", ".": "full_stop", ":": "colon", "/": "slash", "*": "asterisk", "=": "equals_sign",
          "-": "minus", "_": "underscore", "(": "left_parenthesis", ")": "right_parenthesis", "&": "ampersand",
          "$": "dollar_sign", ">": "greater_than_sign", ",": "comma", "+": "plus", "!": "exclamation_mark"}  # fmt: skip


def on_screen(
    work: Callable[[Screen], Awaitable[T]],
    *,
    folder: Path,
    script: Path | str | None = None,
    breakpoints: Sequence[str] = (),
    size: tuple[int, int] = (120, 40),
    operators: OperatorTable | None = None,
    launch_options: dict[str, Any] | None = None,
    commands: Sequence[str] = (),
    start: Start | None = None,
    opening: Callable[[], str] = lambda: "",
    **options: Any,
) -> T:
    """Run ``work`` on the dashboard of a launched program, or of what ``start`` starts.

    ``folder`` is for what the dashboard remembers.
    """

    async def main() -> T:
        if start is not None:
            wished = replace(wishes(folder, commands), opening=opening)
            return await _show(work, start, None, wished, size)
        terminal = ProgramTerminal()

        async def start_program(subscribe: Callable[[Session], None]) -> Session:
            samples = str(Path(__file__).parents[2] / "samples")
            what: dict[str, Any] = {
                "python": sys.executable,
                "env": {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([samples])},
                "stdin": terminal.slave,
                "stdout": terminal.slave,
                "stderr": terminal.slave,
                "own_terminal": True,
                **(launch_options or {}),
            }
            if script is not None:
                what["script"] = str(script)
            return await launch(
                Launch(**what),
                Options(breakpoints=tuple(breakpoints), **options),
                operators,
                subscribe=subscribe,
            )

        return await _show(work, start_program, terminal, wishes(folder, commands), size)

    return asyncio.run(main())


async def _show(
    work: Callable[[Screen], Awaitable[T]],
    start: Start,
    terminal: ProgramTerminal | None,
    wishes: Wishes,
    size: tuple[int, int],
) -> T:
    app = Dashboard(start, terminal, wishes)
    try:
        async with app.run_test(size=size) as pilot:
            return await work(Screen(app, pilot))
    finally:
        await app.close_session()
        if terminal is not None:
            terminal.close()


def wishes(folder: Path, commands: Sequence[str] = ()) -> Wishes:
    return Wishes(
        commands, state=folder / "state.json", keys=folder / "keys.toml", history=folder / "history"
    )
