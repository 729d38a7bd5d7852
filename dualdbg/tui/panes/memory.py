"""The memory pane: bytes of the target as hexadecimal numbers and as letters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from ..model.looks import Part
from ..widgets.row_view import Row, RowsView

WINDOW = 1024  # bytes that are read at a time


def bytes_a_line(width: int) -> int:
    """As many as fit, a power of two from 4 on: an address, three columns a byte, and the letters."""
    for count in (32, 16, 8):
        if 16 + 4 * count <= width:
            return count
    return 4


def memory_rows(address: int, data: bytes, before: bytes | None, count: int) -> list[Row]:
    """``count`` bytes for each line. Bytes that differ from ``before``, read at the same address, are marked."""
    return [
        Row(
            address + start,
            partial(
                _draw,
                address + start,
                data[start : start + count],
                before[start : start + count] if before is not None else None,
                count,
            ),
            address + start,
        )
        for start in range(0, len(data), count)
    ]


def _draw(address: int, data: bytes, before: bytes | None, count: int, room: int) -> Sequence[Part]:
    parts: list[Part] = [(f"{address:#014x}", "number")]
    for index, byte in enumerate(data):
        other = before is not None and index < len(before) and before[index] != byte
        parts.append((f"{'*' if other else ' '}{byte:02x}", "changed" if other else ""))
    letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data)
    parts.append((f"{'   ' * (count - len(data))}  {letters}", "dim"))
    return parts


class MemoryView(RowsView):
    """PageUp and PageDown at the edges go on to other memory."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "move(1)", "Forth", id="memory.forth"),
        Binding("left_square_bracket", "move(-1)", "Back", id="memory.back"),
    ]

    class Wanted(Message):
        """Other memory is to be shown."""

        def __init__(self, address: int) -> None:
            super().__init__()
            self.address = address

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("No address: g asks for one (an address or an expression such as $sp).", id=id)
        self.address: int | None = None
        self._data = b""
        self._before: bytes | None = None
        self._epoch = 0

    def show_memory(self, address: int, data: bytes, epoch: int) -> None:
        """Show ``data`` from ``address`` on. In a later ``epoch`` what has changed is marked."""
        if address != self.address:
            self._before = None
        elif epoch != self._epoch:
            self._before = self._data
        self.address, self._data, self._epoch = address, data, epoch
        self.nothing = f"{address:#x} cannot be read."
        self._draw_rows()

    def _draw_rows(self) -> None:
        if self.address is not None:
            count = bytes_a_line(self.room)
            self.show_rows(memory_rows(self.address, self._data, self._before, count))

    def fit(self) -> None:
        self._draw_rows()

    def action_move(self, by: int) -> None:
        if self.address is not None:
            self.post_message(self.Wanted(max(self.address + by * WINDOW, 0)))
