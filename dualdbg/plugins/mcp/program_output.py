"""What a program has written, kept up to a size, and read a part at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ...system.terminal_text import visible_text

MOST = 1 << 20  # characters that are kept; the oldest go first
_SMALL = 4096  # characters; a piece of fewer takes what follows it

_MARKS = {"stdout": "out", "stderr": "err", "log": "log", "console": "gdb"}


@dataclass(frozen=True)
class Piece:
    """A text of one stream; ``at`` is the position of its first character among all that were written."""

    at: int
    stream: str
    text: str


@dataclass(frozen=True)
class Excerpt:
    """Pieces up to the position ``until``. ``skipped`` characters before them are kept, from ``skipped_at`` on.

    ``lost`` characters before those are not kept any more.
    """

    pieces: tuple[Piece, ...]
    until: int
    skipped: int = 0
    skipped_at: int = 0
    lost: int = 0


class ProgramOutput:
    """Positions count characters from the start of the program."""

    def __init__(self, most: int = MOST) -> None:
        self._pieces: deque[Piece] = deque()
        self._most = most
        self._kept = 0
        self.end = 0
        self.told = 0  # up to here it was read

    @property
    def unread(self) -> int:
        """How many characters were written since the last reading."""
        return self.end - self.told

    def add(self, stream: str, text: str) -> None:
        """Keep a text; the oldest pieces go when there is too much."""
        self.end += len(text)
        text = text[-self._most :]
        last = self._pieces[-1] if self._pieces else None
        at = self.end - len(text)
        if (
            last is not None
            and last.stream == stream
            and last.at + len(last.text) == at
            and len(last.text) < _SMALL
        ):
            self._pieces[-1] = Piece(last.at, stream, last.text + text)
        else:
            self._pieces.append(Piece(at, stream, text))
        self._kept += len(text)
        while self._kept - len(self._pieces[0].text) >= self._most:
            self._kept -= len(self._pieces.popleft().text)

    def read(self, since: int | None, limit: int) -> Excerpt:
        """At most ``limit`` characters: from position ``since`` on, or the last of those that nobody has read."""
        oldest = self._pieces[0].at if self._pieces else self.end
        wanted = self.told if since is None else min(since, self.end)
        begin = max(wanted, oldest)
        first, until = (max(begin, self.end - limit), self.end) if since is None else (begin, begin + limit)
        pieces = tuple(_cut(piece, first, until) for piece in self._pieces if _meets(piece, first, until))
        last = min(until, self.end)
        self.told = max(self.told, last)
        return Excerpt(pieces, last, first - begin, begin, begin - wanted)


def _meets(piece: Piece, first: int, until: int) -> bool:
    return piece.at < until and piece.at + len(piece.text) > first


def _cut(piece: Piece, first: int, until: int) -> Piece:
    begin = max(first - piece.at, 0)
    return Piece(piece.at + begin, piece.stream, piece.text[begin : until - piece.at])


def as_text(pieces: Sequence[Piece]) -> str:
    """Each line behind a mark of its stream: nothing that the program writes can look like a line of ours."""
    text, stream, open_line = "", "", False
    for piece in pieces:
        if open_line and piece.stream != stream:
            text, open_line = text + "\n", False
        stream = piece.stream
        for part in visible_text(piece.text).splitlines(keepends=True):
            text += part if open_line else f"{_MARKS.get(stream, stream)}| {part}"
            open_line = not part.endswith("\n")
    return text + ("\n" if open_line else "")
