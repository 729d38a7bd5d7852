"""What a user wants done at stops: commands of breakpoints, values to show, lines of a file. Plain data.

Front ends run the lines one after the other, as if they were typed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

SILENT = "silent"


@dataclass
class AtStops:
    """``actions`` are the commands of breakpoints by their numbers, ``displays`` the expressions by theirs.

    ``due`` are the lines that are to be run at this stop, before the user is asked for one; ``sourced`` are those of
    files.
    """

    actions: dict[int, tuple[str, ...]] = field(default_factory=dict)
    displays: dict[int, str] = field(default_factory=dict)
    due: deque[str] = field(default_factory=deque)
    sourced: deque[str] = field(default_factory=deque)
    _reading: int | None = None  # the breakpoint whose commands are being typed
    _read: list[str] = field(default_factory=list)
    _last_display: int = 0

    @property
    def is_reading(self) -> bool:
        """Whether the next line belongs to the commands of a breakpoint."""
        return self._reading is not None

    def begin(self, breakpoint: int) -> None:
        """The lines that follow, up to ``end``, are the commands of a breakpoint."""
        self._reading = breakpoint
        self._read.clear()

    def read(self, line: str) -> None:
        """One of these lines."""
        assert self._reading is not None
        if line.strip() != "end":
            self._read.append(line.strip())
            return
        lines = tuple(one for one in self._read if one)
        if lines:
            self.actions[self._reading] = lines
        else:
            self.actions.pop(self._reading, None)
        self._reading = None

    def give_up(self) -> bool:
        """No more lines of commands come: those that are there already stay. Returns whether any were expected."""
        expected, self._reading = self.is_reading, None
        return expected

    def display(self, expression: str) -> int:
        """Show an expression at every stop from now on; returns its number."""
        self._last_display += 1
        self.displays[self._last_display] = expression
        return self._last_display

    def is_silent(self, breakpoints: Iterable[int]) -> bool:
        """Whether the stop at these breakpoints is not told: one of them asks for that."""
        return any(self.actions.get(id, ())[:1] == (SILENT,) for id in breakpoints)

    def stopped(self, breakpoints: Iterable[int]) -> None:
        """The program has stopped at these breakpoints, or elsewhere: what is to be run now."""
        if self.displays and not self.is_silent(breakpoints):
            self.due.append("display")
        for id in breakpoints:
            self.due.extend(line for line in self.actions.get(id, ()) if line != SILENT)

    def source(self, lines: Iterable[str]) -> None:
        """Run these lines before anything else, those that let the program run on too."""
        self.sourced.extendleft(reversed(list(lines)))

    def next_line(self) -> str | None:
        """The next line that is to be run; it is due no more."""
        lines = self.due or self.sourced
        return lines.popleft() if lines else None

    def resumed(self) -> None:
        """The program runs on: what was left to be done at the stop is not done."""
        self.due.clear()
