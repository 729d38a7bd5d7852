"""The last lines of a terminal for a text that is written anew again and again, while a program writes above it."""

from __future__ import annotations

import os
from collections.abc import Callable

_LEAST = 12  # lines of a terminal that has such an area
_MOST = 8  # lines of the area


class StatusArea:
    """A terminal scrolls what is above; where it has another size the area is made again at the next text.

    ``descriptor`` is that of the terminal.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size: tuple[int, int] | None = None  # with which the area was made: lines, columns

    def show(self, text: Callable[[int, int], list[str]]) -> None:
        """Write the lines of a text, which is asked for by how many there are to be, and their columns."""
        columns, rows = os.get_terminal_size(self._descriptor)
        made = ""
        if self._size != (rows, columns):
            made = self._cleared() if self._size is not None else ""
            if rows < _LEAST:
                self._size = None
                self._write(made)
                return
            self._size = rows, columns
            height = self._height(rows)
            # Room for it is made by lines at the end; the cursor stays with the last line above.
            made += "\n" * height + f"\x1b[{height}A\x1b7\x1b[1;{rows - height}r\x1b8"
        height = self._height(rows)
        lines = "".join(
            f"\x1b[{rows - height + 1 + at};1H\x1b[2K{line}" for at, line in enumerate(text(height, columns))
        )
        self._write(f"{made}\x1b7{lines}\x1b8")

    def close(self) -> None:
        """The terminal is as it was."""
        if self._size is not None:
            self._write(self._cleared())
            self._size = None

    def _cleared(self) -> str:
        assert self._size is not None
        rows, _ = self._size
        return f"\x1b7\x1b[r\x1b[{rows - self._height(rows) + 1};1H\x1b[J\x1b8"

    @staticmethod
    def _height(rows: int) -> int:
        return min(_MOST, rows // 3)

    def _write(self, text: str) -> None:
        os.write(self._descriptor, text.encode())
