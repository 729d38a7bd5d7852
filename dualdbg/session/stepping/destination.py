"""The place to which ``until PLACE`` lets the target run: a breakpoint that goes at the next stop, there or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CommandError
from ...model import BreakpointState

if TYPE_CHECKING:
    from ..breakpoints.table import BreakpointTable


class Destination:
    """Sets and removes that breakpoint. Is the only one that knows its number."""

    def __init__(self, breakpoints: BreakpointTable) -> None:
        self._breakpoints = breakpoints
        self._rows: list[int] = []

    async def set(self, location: str) -> None:
        """To be called before the target runs there. Raises CommandError where there can be no such breakpoint."""
        rows = await self._breakpoints.add(location, temporary=True)
        self._rows += [row.id for row in rows]
        rejected = [row for row in rows if row.state is BreakpointState.REJECTED]
        if rejected:
            await self.forget()
            raise CommandError(f"until {location}: {rejected[0].message}", "the program was not let run")

    async def forget(self) -> None:
        """The target has stopped, there or elsewhere."""
        rows, self._rows = self._rows, []
        for id in rows:
            if self._breakpoints.has(id):
                await self._breakpoints.remove(id)
