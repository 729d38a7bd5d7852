"""The registers pane: those of the selected native frame, changed ones marked."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

from ...model import Value
from ..model.changes import Memory, changed
from ..model.looks import Part, fit
from ..widgets.row_view import Row, RowsView


class RegistersView(RowsView):
    """Name and content, one a line."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("Registers belong to native frames.", id=id)
        self._memory = Memory()

    def new_stop(self) -> None:
        """From now on changes are told against what is shown now."""
        self._memory.turn()

    def show_registers(self, scope: Hashable, values: Sequence[Value]) -> None:
        """Show the registers of a frame; ``scope`` is the function whose last values they are compared with."""
        last = self._memory.last(scope)
        width = max((len(value.name) for value in values), default=0)
        self.show_rows(
            [
                Row(
                    value.name, partial(_draw, value, width, changed(last, (value.name,), value.value)), value
                )
                for value in values
            ]
        )
        self._memory.keep(scope, {(value.name,): value.value for value in values})

    def clear(self, why: str) -> None:
        """Show why there are none."""
        self.nothing = why
        self.show_rows(())


def _draw(value: Value, width: int, is_changed: bool, room: int) -> Sequence[Part]:
    mark = "*" if is_changed else " "
    return (
        (mark, "changed"),
        (f"{value.name:<{width}} ", "name"),
        (fit(value.value, max(room - width - 2, 8)), "changed" if is_changed else ""),
    )
