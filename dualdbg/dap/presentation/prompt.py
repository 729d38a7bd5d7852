"""The prompt's commands in the debug console: one line in, its text out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from ...console.commands.information import INFO_WORDS
from ...console.commands.registry import is_ours
from ...console.completion import Completions, FunctionNames, breakpoint_numbers
from ...console.console import Console, Quit
from ...console.printer import Printer
from ...console.reports import Report
from ...console.selection import Selection
from ...console.style import Style
from ...model import Event
from ...session.session import Session
from ...system.source_files import source_line
from ..handles import FrameHandle

PREFIXES = ("`", "-exec ")
_OF_GDB = PREFIXES[1]
_EVENTS = get_args(Event)


def command_of(text: str) -> str | None:
    """The prompt command that a line of the debug console holds, if it holds one.

    ``-exec`` is cppdbg's, with gdb's commands: what the prompt does not know goes to gdb, also in words of MI.
    """
    for prefix in PREFIXES:
        if text.startswith(prefix):
            line = text[len(prefix) :].strip()
            return f"gdb {line}" if prefix == _OF_GDB and line and not is_ours(line) else line
    return None


class Prompt:
    """Runs commands for one client. Events of the session are not printed: the client gets them as events."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._text: list[str] = []
        self._printer = Printer(Style(), read_line=source_line)
        self._console = Console(session, self._show)
        self._completions = Completions(
            FunctionNames(lambda: session), INFO_WORDS, lambda: breakpoint_numbers(session)
        )
        self._console.tells_traces = False  # it is an event too
        self._console.takes_python = False  # the debug console takes it as it is
        self._console.at_stops = None  # the editor waits for no command of ours when the program stops

    def _show(self, report: Report) -> None:
        if not isinstance(report, _EVENTS):
            self._text.append(self._printer.render(report))

    async def run(self, line: str, handle: FrameHandle | None) -> str:
        """What the command has to say; ``handle`` is the frame that is selected in the editor."""
        if not line:
            return ""
        self._text.clear()
        await self._select(handle)
        try:
            await self._console.execute(line)
        except Quit:
            await self._session.kill()
        return "".join(self._text).rstrip("\n")

    async def _select(self, handle: FrameHandle | None) -> None:
        session = self._session
        if handle is not None:
            frames = (await session.inspector.stack(handle.tid)).visible()
            number = next((i for i, frame in enumerate(frames) if frame == handle.frame), 0)
            self._console.selection = Selection(handle.tid, number)
        elif self._console.selection is None and session.stop is not None:
            self._console.selection = Selection(session.stop.thread.tid, session.stop.number)

    def candidates(self, line: str) -> Iterable[tuple[str, int]]:
        """What may stand at the end of ``line``, and how many of its last characters that replaces."""
        return self._completions.candidates(line)

    async def close(self) -> None:
        """No more commands come."""
        await self._console.close()
