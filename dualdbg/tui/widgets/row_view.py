"""Lines that stand for things: frames, threads, values. The cursor stays on its thing when the lines change."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from ..model.looks import Part
from .line_view import LineView


@dataclass(frozen=True)
class Row:
    """``key`` names the thing for as long as it is the same one; ``draw`` makes its line for a width."""

    key: Hashable
    draw: Callable[[int], Sequence[Part]]
    thing: Any = None
    look: str = ""


class RowsView(LineView):
    """A list of rows."""

    def __init__(self, nothing: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: Sequence[Row] = ()
        self.nothing = nothing

    def show_rows(self, rows: Sequence[Row], cursor: Hashable = None) -> None:
        """Show these rows. The cursor goes to the row with the key ``cursor``, else it stays on its thing."""
        wanted = cursor if cursor is not None else self.current_key
        self.rows = rows
        self.lines_changed()
        for line, row in enumerate(rows):
            if row.key == wanted:
                self.cursor = line
                break

    @property
    def current(self) -> Row | None:
        """The row of the cursor; None where there are no rows."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    @property
    def current_key(self) -> Hashable:
        row = self.current
        return row.key if row is not None else None

    def line_count(self) -> int:
        return len(self.rows)

    def parts(self, line: int, width: int) -> Sequence[Part]:
        return self.rows[line].draw(width)

    def line_look(self, line: int) -> str:
        return self.rows[line].look

    def empty(self) -> Sequence[Part]:
        return ((self.nothing, "dim"),)
