"""What a user wants done at stops: commands of breakpoints, values to show, lines of a file. Plain data.

Front ends run the lines one after the other, as if they were typed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..errors import CommandError
from .commands.registry import find_command, split_line

SILENT = "silent"

Files = tuple[tuple[int, int], ...]
"""Files that are being read, the outermost first: of each what the system knows it by (device, inode)."""


@dataclass
class AtStops:
    """``actions`` are the commands of breakpoints by their numbers, ``displays`` the expressions by theirs.

    ``due`` are the lines that are to be run at this stop, before the user is asked for one; ``sourced`` are those of
    files. Each comes with the files that are being read for it.
    """

    actions: dict[int, tuple[str, ...]] = field(default_factory=dict)
    displays: dict[int, str] = field(default_factory=dict)
    sticky: bool = False  # the source around the line is shown at every stop
    by_instruction: bool = (
        False  # the program is on its way by an instruction: the one that it comes to is shown
    )
    due: deque[tuple[str, Files]] = field(default_factory=deque)
    sourced: deque[tuple[str, Files]] = field(default_factory=deque)
    _reading: int | None = None  # the breakpoint whose commands are being typed
    _read: list[str] = field(default_factory=list)
    _inner: int = 0  # how many blocks of commands within them are open
    # Of the line that was run last: its files, and whether it was due.
    _last: tuple[Files, bool] = ((), False)
    _last_display: int = 0

    @property
    def is_reading(self) -> bool:
        """Whether the next line belongs to the commands of a breakpoint."""
        return self._reading is not None

    def begin(self, breakpoint: int) -> None:
        """The lines that follow, up to ``end``, are the commands of a breakpoint."""
        self._reading = breakpoint
        self._read.clear()
        self._inner = 0

    def read(self, line: str) -> None:
        """One of these lines. A block of commands among them has an ``end`` of its own."""
        assert self._reading is not None
        line = line.strip()
        if line != "end" or self._inner:
            self._inner += _opens_a_block(line) - (line == "end")
            self._read.append(line)
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

    def undisplay(self, numbers: str) -> None:
        """Show these no more; without numbers none at all. Raises CommandError for an unknown number."""
        for word in numbers.split() or [str(number) for number in self.displays]:
            if not word.isdecimal() or int(word) not in self.displays:
                raise CommandError(f"there is no display {word}", "display without more lists them")
            del self.displays[int(word)]

    def is_silent(self, breakpoints: Iterable[int]) -> bool:
        """Whether the stop at these breakpoints is not told: one of them asks for that."""
        return any(self.actions.get(id, ())[:1] == (SILENT,) for id in breakpoints)

    def stopped(self, breakpoints: Iterable[int], has_source: bool, natively: bool) -> None:
        """The program has stopped at these breakpoints, or elsewhere: what is to be run now."""
        if self.by_instruction and natively and not self.is_silent(breakpoints):
            self.due.append(("x/i $pc", ()))
        self.by_instruction = False
        if self.sticky and has_source and not self.is_silent(breakpoints):
            self.due.append(("list .", ()))
        if self.displays and not self.is_silent(breakpoints):
            self.due.append(("display", ()))
        for id in breakpoints:
            self.due.extend((line, ()) for line in self.actions.get(id, ()) if line != SILENT)

    def is_being_read(self, file: tuple[int, int]) -> bool:
        """Whether the line that is run now comes from this file, or from one that the file reads."""
        return file in self._last[0]

    def source(self, file: tuple[int, int], lines: Iterable[str]) -> None:
        """Run the lines of a file before anything else.

        Those that let the program run on too; but in the commands of a breakpoint nothing after them is done.
        """
        files, was_due = self._last
        rows = [(line, (*files, file)) for line in lines]
        (self.due if was_due else self.sourced).extendleft(reversed(rows))

    def next_line(self, stopped: bool) -> str | None:
        """The next line that is to be run, if the program has stopped; it is due no more."""
        lines = self.due or self.sourced
        if not (stopped and lines):
            self._last = (), False
            return None
        line, files = lines.popleft()
        self._last = files, lines is self.due
        return line

    def failed(self) -> bool:
        """The last line failed: the files that it came from are read no further. Returns whether lines were left."""
        files, was_due = self._last
        if not files:
            return False
        lines = self.due if was_due else self.sourced
        kept = [(line, of) for line, of in lines if of[:1] != files[:1]]
        left = len(lines) - len(kept)
        lines.clear()
        lines.extend(kept)
        return left > 0

    def resumed(self) -> None:
        """The program runs on: what was left to be done at the stop is not done."""
        self.due.clear()


def _opens_a_block(line: str) -> bool:
    try:
        return bool(line) and find_command(split_line(line)[0]).name == "commands"
    except CommandError:
        return False  # no command of ours: that is told when the line is run
