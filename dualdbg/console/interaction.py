"""The lines of `interact`, Python's own prompt in a frame: which of them together are a statement."""

from __future__ import annotations

import codeop
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

FIRST, FURTHER = ">>> ", "... "  # as Python's prompt writes them
_LAST = ("exit", "exit()", "quit", "quit()")


@dataclass
class Interaction:
    """What is typed for one frame, at the stop of the session whose ``epoch`` this is. ``run`` runs a statement."""

    epoch: int
    run: Callable[[str], Awaitable[None]]
    _lines: list[str] = field(default_factory=list)

    @property
    def prompt(self) -> str:
        """What stands before the next line."""
        return FURTHER if self._lines else FIRST

    def read(self, line: str) -> str | None:
        """One line. The statement that it completes; empty where there is none, None where more has to follow."""
        if not self._lines and not line.strip():
            return ""
        self._lines.append(line)
        text = "\n".join(self._lines)
        if not _is_complete(text):
            return None
        self._lines.clear()
        return text.rstrip()

    def is_last(self, line: str) -> bool:
        """Whether a line ends the console."""
        return not self._lines and line.strip() in _LAST

    def give_up(self) -> bool:
        """Forget the lines of a statement that is not complete. Returns whether there were any."""
        begun = bool(self._lines)
        self._lines.clear()
        return begun


def _is_complete(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return codeop.compile_command(text) is not None
    except (SyntaxError, ValueError, OverflowError):
        return True  # the program's own Python says what it thinks of it: it may be another version
