"""Bytes of gdb's output become whole lines (no I/O): a line is bounded, and one that is too long is refused."""

from __future__ import annotations

from ..errors import ProtocolError

# Bytes of a line. The longest is the text of one print: some hundred KiB for a value of 64 KiB, and gdb prints no
# larger one unless it is told to (max-value-size).
MAXIMUM = 1 << 20
_START = 64  # bytes of a line that was refused: they say whose answer it was


class LineTooLong(ProtocolError):
    """``start`` is the beginning of the line, the rest was passed over."""

    def __init__(self, start: bytes, maximum: int) -> None:
        super().__init__(
            f"gdb wrote a line of more than {maximum} bytes: it was passed over",
            "ask for less, or let gdb write it to a file: gdb set logging file NAME",
        )
        self.start = start


class LineSplitter:
    """Keeps what is incomplete for the next time. Each byte is looked at once."""

    def __init__(self, maximum: int = MAXIMUM) -> None:
        self._maximum = maximum
        self._parts: list[bytes] = []  # of the line that has not ended
        self._length = 0
        self._skipping = False  # in a line that was refused, up to its end

    def feed(self, data: bytes) -> list[bytes | LineTooLong]:
        """The lines that are complete now, without their ends; for each that is too long a LineTooLong."""
        items: list[bytes | LineTooLong] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._take(piece, items)
            if not self._skipping:
                items.append(b"".join(self._parts))
            self._parts, self._length, self._skipping = [], 0, False
        self._take(rest, items)
        return items

    def _take(self, piece: bytes, items: list[bytes | LineTooLong]) -> None:
        if self._skipping or not piece:
            return
        self._parts.append(piece)
        self._length += len(piece)
        if self._length > self._maximum:
            items.append(LineTooLong(b"".join(self._parts)[:_START], self._maximum))
            self._parts, self._skipping = [], True
