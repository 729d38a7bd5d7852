"""Letting the target run, and stopping it."""

from __future__ import annotations

from ...errors import DualdbgError
from ...model import State
from ..base import STOPPED, Base
from ..panes.prompt import CommandLine


class Running(Base):
    """Steps, continue, pause. A key that is held down does not pile steps up."""

    _going = False  # the target was told to go on, and has not been seen to do so yet

    def seen(self) -> None:
        """The session has said something: what was asked for is under way or over."""
        self._going = False

    def action_run(self, command: str) -> None:
        if self.state in STOPPED and not self._going:
            self._going = True
            self.act(self._resume(command))

    async def _resume(self, command: str) -> None:
        assert self.session is not None
        try:
            if command == "continue":
                await self.session.resume()
            else:
                await self.session.step(command)
        except DualdbgError:
            self._going = False
            raise

    def action_until(self) -> None:
        """Run to the line of the cursor."""
        place = self.views.source.place()
        if place is None or self.session is None or self.state not in STOPPED:
            return
        file, line = place
        self.act(self.session.step("until", f"*{line:#x}" if file is None else f"{file}:{line}"))

    def action_pause(self) -> None:
        console = self.console_
        if self.state is State.RUNNING and console is not None:
            if len(console.views) > 1:
                console.interrupt()  # every process: all have run on with the current one
            else:
                self.act(console.session.pause())

    def action_interrupt(self) -> None:
        """Ctrl-C: what it means depends on the pane that has the focus."""
        focused = self.focused
        if focused is self.views.program and self.terminal is not None and self.state is State.RUNNING:
            self.terminal.send("\x03")  # the terminal's own way: a program in raw mode reads it as a key
        elif isinstance(focused, CommandLine) and focused.selected_text:
            focused.action_copy()
        elif self.state is State.RUNNING:
            self.action_pause()
        elif self.cancel():
            pass
        elif self.state in STOPPED:
            self.notify("The target is stopped already. Ctrl-Q leaves.", timeout=3)
        else:
            self.notify("Ctrl-Q leaves.", timeout=3)

    def action_frame(self, by: int) -> None:
        """Select a frame by its distance from the selected one."""
        loader = self.loader
        if loader is None or loader.stack is None or loader.console.selection is None:
            return
        number = loader.console.selection.number + by
        if 0 <= number < len(loader.stack.visible()):
            loader.select(loader.stack.thread, number)
