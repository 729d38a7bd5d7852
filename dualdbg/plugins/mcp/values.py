"""Values as rows: short first, children only as deep as was asked, all of one answer within a budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ...model import Value
from .answers import ValueRow
from .bounds import MOST_OF_VALUES, line, size_of

Page = Callable[[Value, int, int], Awaitable[Sequence[Value]]]
"""So many children of a value, from that number on."""


@dataclass
class Rows:
    """Makes the rows of one answer. ``limit`` children of each value, down to ``depth``, texts up to ``length``.

    ``spent``: the budget is used up, and values were left out.
    """

    page: Page
    limit: int
    depth: int
    length: int
    left: int = MOST_OF_VALUES
    spent: bool = False

    async def of(self, values: Sequence[Value]) -> list[ValueRow]:
        """As many of the values as the budget allows."""
        return await self._level(values, 1)

    async def _level(self, values: Sequence[Value], level: int) -> list[ValueRow]:
        rows = []
        for value in values:
            if self.left <= 0:
                self.spent = True
                break
            rows.append(await self._row(value, level))
        return rows

    async def _row(self, value: Value, level: int) -> ValueRow:
        text = value.value
        shown = text if len(text) <= self.length else text[: self.length] + "…"
        row = ValueRow(
            name=line(value.name),
            type=line(value.type),
            value=shown,
            length=len(text) if shown is not text else None,
            child_count=value.child_count if value.reference else None,
            has_children=True if value.reference and value.child_count is None else None,
        )
        self.left -= size_of(row)
        if value.reference and level < self.depth:
            children = await self.page(value, 0, self.limit + 1)
            row.children = await self._level(children[: self.limit], level + 1)
            if len(children) <= self.limit and row.child_count is None:
                row.child_count, row.has_children = len(children), None
        return row


def as_text(rows: Sequence[ValueRow], indent: str = "") -> str:
    """A line for each value: type, name, value, and the children below it."""
    text = ""
    for row in rows:
        value = row.value.replace("\n", "\n" + indent + "    ")
        cut = f" ({row.length} characters)" if row.length is not None else ""
        kind = f"{row.type} " if row.type else ""
        count = f" ({row.child_count} children)" if row.child_count and row.children is None else ""
        text += f"{indent}{kind}{row.name} = {value}{cut}{count}\n"
        text += as_text(row.children or (), indent + "  ")
    return text
