"""One set of breakpoints over several processes: a change in one of them is made in all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ...errors import DualdbgError
from ...model import Breakpoint, BreakpointSpec, BreakpointState, Notice, State
from ..loop import Loop
from .table import WATCHES, BreakpointTable, WatchedFrame

_OVER = (State.EXITED, State.DETACHED, State.LOST)


class SharedBreakpoints:
    """The tables of the processes that have their breakpoints in common. That of the launched process is the first."""

    def __init__(self) -> None:
        self._tables: list[SharedTable] = []
        self._rows: dict[int, Breakpoint] = {}
        self.next_id = 1

    async def join(self, table: SharedTable) -> None:
        """Give ``table`` the breakpoints of the others. From now on it gets every change."""
        self._tables.append(table)
        for row in list(self._rows.values()):
            await table.copy(row)

    def is_first(self, table: SharedTable) -> bool:
        """Whether the table is that of the launched process."""
        return self._tables[:1] == [table]

    def bound(self) -> set[int]:
        """The breakpoints that were bound or met in any of the processes."""
        rows = (row for table in self._tables for row in table.all())
        return {row.id for row in rows if row.state is not BreakpointState.PENDING or row.hit_count}

    def add(self, row: Breakpoint) -> None:
        """A breakpoint was set or changed: processes that join later get it so."""
        self._rows[row.id] = row
        self.next_id = max(self.next_id, row.id + 1)

    def remove(self, id: int) -> None:
        """A breakpoint was removed: processes that join later do not get it."""
        self._rows.pop(id, None)

    async def in_others(self, table: SharedTable, change: Callable[[SharedTable], Awaitable[Any]]) -> None:
        """Make the same change in every other process that still lives. A failure is told there."""
        for other in self._tables:
            if other is table or other.is_over:
                continue
            try:
                await change(other)
            except DualdbgError as error:
                other.tell(Notice("warning", error.message, error.hint))


class SharedTable(BreakpointTable):
    """The breakpoints of one of the processes."""

    def __init__(self, shared: SharedBreakpoints, loop: Loop, *parts: Any) -> None:
        super().__init__(loop, *parts)
        self._shared = shared
        self._of_frames: set[int] = set()  # those that belong to a frame, and so to this process

    @property
    def is_over(self) -> bool:
        """Whether the process has ended or was left."""
        return self._loop.state.phase in _OVER

    def tell(self, notice: Notice) -> None:
        """Tell the user of this process."""
        self._loop.tell(notice)

    async def add_spec(
        self, spec: BreakpointSpec, frame: WatchedFrame | None = None, optional: bool = False
    ) -> Breakpoint:
        """Set a breakpoint in all processes; what belongs to a frame only in this one."""
        self._next_id = self._shared.next_id
        row = await super().add_spec(spec, frame, optional)
        if row.id not in self._rows:
            return row
        if frame is not None and row.spec.kind in WATCHES:
            self._shared.next_id = max(self._shared.next_id, row.id + 1)
            self._of_frames.add(row.id)
            return row
        self._shared.add(row)
        await self._shared.in_others(self, lambda other: other.copy(row))
        return row

    def report_unbound(self) -> None:
        """Told once, for the launched process, about what is not bound in any process."""
        if self._shared.is_first(self):
            self._optional |= self._shared.bound()
            super().report_unbound()

    async def copy(self, row: Breakpoint) -> None:
        """Set a breakpoint of another process here, under the same number."""
        if row.id in self._rows:
            return
        self._next_id = row.id
        await super().add_spec(row.spec)
        if not row.enabled and row.id in self._rows:
            await super().enable(row.id, False)

    async def remove(self, id: int) -> None:
        """Remove a breakpoint in all processes."""
        await super().remove(id)
        self._shared.remove(id)
        await self._shared.in_others(self, lambda other: other.drop(id))

    async def drop(self, id: int) -> None:
        """Remove a breakpoint here, because it was removed in another process."""
        if id in self._rows:
            await super().remove(id)

    async def enable(self, id: int, enabled: bool, once: bool = False) -> None:
        """Switch a breakpoint on or off in all processes."""
        await super().enable(id, enabled, once)
        if id not in self._rows or id in self._of_frames:
            return
        self._shared.add(self._rows[id])
        await self._shared.in_others(self, lambda other: other.switch(id, enabled, once))

    async def switch(self, id: int, enabled: bool, once: bool) -> None:
        """Switch a breakpoint on or off here, because it was switched in another process."""
        if id in self._rows:
            await super().enable(id, enabled, once)

    async def change(self, id: int, **suffixes: Any) -> Breakpoint:
        """Give a breakpoint other suffixes in all processes."""
        row = await super().change(id, **suffixes)
        if id in self._of_frames:
            return row
        self._shared.add(row)
        await self._shared.in_others(self, lambda other: other.change_here(id, suffixes))
        return row

    async def change_here(self, id: int, suffixes: dict[str, Any]) -> None:
        """Change a breakpoint here, because it was changed in another process."""
        if id in self._rows:
            await super().change(id, **suffixes)
