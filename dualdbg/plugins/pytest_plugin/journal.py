"""The results of tests, written down so that they outlive the process: an entry costs as much as an assignment."""

from __future__ import annotations

import marshal
import mmap
import os
import struct
from pathlib import Path
from typing import Any

_NAME = "journal"
_STEP = 1 << 20  # bytes by which the file grows
_LENGTH = struct.Struct("<I")


class Journal:
    """Entries of plain Python values, each whole or not there, in a file that is mapped.

    Before each stands its length, which is written last. Behind the last one are zeros.
    """

    def __init__(self, folder: Path) -> None:
        self.entries, self._end = _read(folder)
        self._file = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(self._file, self._end)  # what was being written when the process died
        self._room = 0
        self._map = self._grown(self._end)

    def add(self, entry: int | list[Any]) -> None:
        """Write an entry down."""
        data = marshal.dumps(entry, 2)
        begin = self._end + _LENGTH.size
        end = begin + len(data)
        if end > self._room:
            self._map = self._grown(end)
        self._map[begin:end] = data
        _LENGTH.pack_into(self._map, self._end, len(data))
        self._end = end

    def close(self) -> None:
        """Nothing is added any more."""
        self._map.close()
        os.close(self._file)

    def _grown(self, needed: int) -> mmap.mmap:
        self._room = needed // _STEP * _STEP + _STEP
        os.ftruncate(self._file, self._room)
        return mmap.mmap(self._file, self._room)


def _read(folder: Path) -> tuple[list[Any], int]:
    """The entries, and where the last one ends."""
    try:
        data = (folder / _NAME).read_bytes()
    except FileNotFoundError:
        return [], 0
    entries: list[Any] = []
    at = 0
    while at + _LENGTH.size <= len(data):
        begin = at + _LENGTH.size
        (length,) = _LENGTH.unpack_from(data, at)
        if not length:
            break
        entries.append(marshal.loads(data[begin : begin + length]))
        at = begin + length
    return entries, at
