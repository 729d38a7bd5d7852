"""Bytes of gdb's output become whole lines (no I/O): a line is bounded, and one that is too long is refused."""

from __future__ import annotations

from ..errors import ProtocolError

MAXIMUM = 16 << 20  # bytes of a line: the text of one print may be long, and is one line


class LineSplitter:
    """Keeps what is incomplete for the next time. Each byte is looked at once."""

    def __init__(self, maximum: int = MAXIMUM) -> None:
        self._maximum = maximum
        self._parts: list[bytes] = []  # of the line that has not ended
        self._length = 0
        self._skipping = False  # in a line that was refused, up to its end

    def feed(self, data: bytes) -> list[bytes | ProtocolError]:
        """The lines that are complete now, without their ends; for each that is too long a ProtocolError."""
        items: list[bytes | ProtocolError] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._take(piece, items)
            if not self._skipping:
                items.append(b"".join(self._parts))
            self._parts, self._length, self._skipping = [], 0, False
        self._take(rest, items)
        return items

    def _take(self, piece: bytes, items: list[bytes | ProtocolError]) -> None:
        if self._skipping or not piece:
            return
        self._parts.append(piece)
        self._length += len(piece)
        if self._length > self._maximum:
            self._parts, self._skipping = [], True
            items.append(
                ProtocolError(f"gdb wrote a line of more than {self._maximum} bytes: it was passed over")
            )
