"""The results of tests, written down so that they outlive the process: an entry costs as much as an assignment."""

from __future__ import annotations

import io
import marshal
import mmap
import os
from pathlib import Path
from typing import Any

_NAME = "journal"
_STEP = 1 << 20  # bytes by which the file grows


class Journal:
    """Entries of plain Python values, each whole or not there, in a file that is mapped.

    A process that dies leaves what it has written to the kernel, and behind that zeros, with which no entry begins.
    """

    def __init__(self, folder: Path) -> None:
        self.entries, self._end = _read(folder)
        self._file = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._room = 0
        self._map = self._grown(0)

    def add(self, entry: int | list[Any]) -> None:
        """Write an entry down."""
        data = marshal.dumps(entry, 2)
        end = self._end + len(data)
        if end > self._room:
            self._map = self._grown(len(data))
        self._map[self._end : end] = data
        self._end = end

    def close(self) -> None:
        """Nothing is added any more."""
        self._map.close()
        os.close(self._file)

    def _grown(self, needed: int) -> mmap.mmap:
        self._room = (self._end + needed) // _STEP * _STEP + _STEP
        os.ftruncate(self._file, self._room)
        return mmap.mmap(self._file, self._room)


def _read(folder: Path) -> tuple[list[Any], int]:
    """The entries, and where the last one ends."""
    try:
        stream = io.BytesIO((folder / _NAME).read_bytes())
    except FileNotFoundError:
        return [], 0
    entries: list[Any] = []
    end = 0
    while True:
        try:
            entries.append(marshal.load(stream))
        except (EOFError, ValueError, TypeError):  # zeros, or what was being written
            return entries, end
        end = stream.tell()
