"""Long answers at the prompt come a screen at a time, as in gdb: what is written now, and what waits for a key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import get_args

from prompt_toolkit.data_structures import Size
from prompt_toolkit.utils import get_cwidth

from ..console.reports import ErrorReport, OfProcess, ProcessChanged, Report
from ..model import Event

QUESTION = "--Type <RET> for more, q to quit, c to continue without paging--"  # gdb's

_COLOUR = re.compile(r"\x1b\[[\d;]*m")
# What happened, and what failed, is told also to who has read enough of an answer.
_NEWS = (*get_args(Event), ProcessChanged, ErrorReport)


@dataclass(frozen=True)
class _Piece:
    """A part of a text that is not divided further. ``rows``: of the terminal; ``is_news``: it is never left out."""

    text: str
    rows: int
    is_news: bool


@dataclass
class Pager:
    """Of one terminal. Between :meth:`begin` and :meth:`end` what does not fit on its screen is held back."""

    size: Callable[[], Size]
    _room: int | None = None  # rows of this screen that are left
    _held: list[_Piece] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether something waits for the user."""
        return bool(self._held)

    def begin(self) -> None:
        """An answer begins, on a screen that the user has read."""
        self._room = self.size().rows - 1  # the last row is the question's

    def end(self) -> None:
        """What comes from now on is written as it comes. Nothing may be held."""
        assert not self._held
        self._room = None

    def passed(self, report: Report, text: str) -> str:
        """What is to be written of a report's text now."""
        if self._room is None:
            return text
        if isinstance(report, OfProcess):
            report = report.report
        is_news = isinstance(report, _NEWS)
        self._held += [_Piece(piece, rows, is_news) for piece, rows in _pieces(text, self.size().columns)]
        return self._fitting()

    def more(self) -> str:
        """The next screen."""
        self.begin()
        return self._fitting()

    def rest(self) -> str:
        """All that is held."""
        return self._taken(len(self._held))

    def news(self) -> str:
        """What has happened meanwhile; the answer is dropped."""
        self._held = [piece for piece in self._held if piece.is_news]
        return self.rest()

    def _fitting(self) -> str:
        assert self._room is not None
        count = 0
        for piece in self._held:
            if piece.rows > self._room and not (count == 0 and self._room == self.size().rows - 1):
                self._room = 0  # what comes later is not written before this piece
                break
            self._room = max(self._room - piece.rows, 0)
            count += 1
        return self._taken(count)

    def _taken(self, count: int) -> str:
        taken, self._held = self._held[:count], self._held[count:]
        text = "".join(piece.text for piece in taken)
        # The question, which is erased afterwards, has a row of its own.
        return text + "\n" if self._held and text and not text.endswith("\n") else text


def _pieces(text: str, columns: int) -> Iterator[tuple[str, int]]:
    """Rows of the terminal; a line with colours is one piece, however many rows it takes."""
    return chain.from_iterable(_pieces_of_line(line, columns) for line in text.splitlines(keepends=True))


def _pieces_of_line(line: str, columns: int) -> Iterator[tuple[str, int]]:
    width = get_cwidth(_COLOUR.sub("", line.rstrip("\n")))
    if width <= columns or "\x1b" in line:
        yield line, max(-(-width // columns), 1)
        return
    begin = width = 0
    for at, letter in enumerate(line.rstrip("\n")):
        width += get_cwidth(letter)
        if width > columns:
            yield line[begin:at], 1
            begin, width = at, get_cwidth(letter)
    yield line[begin:], 1
