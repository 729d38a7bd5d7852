"""What a program writes goes where it would have gone, and its end is kept."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..system.locale_encoding import decoded

_KEPT = 1 << 16  # bytes of each stream
_CHUNK = 1 << 16


class Tee:
    """Pipes between a program and our own streams. One that is a terminal is left to the program itself.

    ``write_ends``, by the number of the stream, are for the program; :meth:`begin` closes them here.
    """

    def __init__(self) -> None:
        self.write_ends: dict[int, int] = {}
        self._read_ends: dict[int, int] = {}
        self._tails: dict[int, bytes] = {}
        for number in (1, 2):
            if not os.isatty(number):
                self._read_ends[number], self.write_ends[number] = os.pipe2(os.O_CLOEXEC)
                os.set_blocking(self._read_ends[number], False)
                self._tails[number] = b""

    def begin(self) -> None:
        """The program has its ends."""
        for end in self.write_ends.values():
            os.close(end)
        self.write_ends.clear()

    @property
    def read_ends(self) -> Mapping[int, int]:
        """The descriptors to wait for, by the number of the stream."""
        return self._read_ends

    def pump(self, number: int) -> bool:
        """Pass on what is there of one stream; false when it has ended."""
        while True:
            try:
                data = os.read(self._read_ends[number], _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                os.close(self._read_ends.pop(number))
                return False
            self._tails[number] = (self._tails[number] + data)[-_KEPT:]
            _write(number, data)

    def pump_all(self) -> None:
        """Pass on all that has been written until now."""
        for number in list(self._read_ends):
            self.pump(number)

    def tails(self) -> tuple[tuple[str, str], ...]:
        """The end of each stream, as far as it went through us."""
        names = {1: "stdout", 2: "stderr"}
        return tuple((names[at], decoded(tail)) for at, tail in self._tails.items() if tail)


def _write(number: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(number, rest) :]
