"""What has to be there before hits are counted in the process: somebody who follows them, and a target that stands."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from ...errors import WrongState
from ...model import Breakpoint, BreakpointSpec, State
from ..loop import Loop

if TYPE_CHECKING:
    from ..ports import Halting

T = TypeVar("T")


class Counting:
    """Prepares for breakpoints that count. ``before`` is called with the spec of each."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.before: Callable[[BreakpointSpec], None] = lambda spec: None
        self.halting: Halting | None = None

    async def add(self, spec: BreakpointSpec, add: Callable[[], Awaitable[T]]) -> T:
        """Add a breakpoint."""
        if spec.counts:
            self.before(spec)
        return await self.held([spec], add)

    async def release(self, rows: Iterable[Breakpoint], release: Callable[[], Awaitable[None]]) -> None:
        """Let these breakpoints stop, or count, from now on."""
        await self.held([row.spec for row in rows], release)

    async def held(self, specs: Iterable[BreakpointSpec], work: Callable[[], Awaitable[T]]) -> T:
        """Do something with breakpoints; where any of them counts, while gdb holds the target.

        A thread of the target has to make memory for it, and what counts is in the code of the target while that runs.
        """
        if self.halting is None or not any(spec.counts for spec in specs):
            return await work()
        if self._loop.state.phase not in (State.RUNNING, State.PYTHON_STOPPED):
            return await work()
        try:
            return await self.halting.interrupted(work)
        except WrongState:
            return await work()  # another stop came first, which serves as well


class _Table(Protocol):
    counting: Counting

    def get(self, id: int) -> Breakpoint: ...


F = TypeVar("F", bound=Callable[..., Coroutine[Any, Any, Any]])


def while_held(change: F) -> F:
    """A method of the table that changes the breakpoint of a number, made as :meth:`Counting.held` does."""

    @functools.wraps(change)
    async def made(table: _Table, id: int, *arguments: Any, **named: Any) -> Any:
        return await table.counting.held([table.get(id).spec], lambda: change(table, id, *arguments, **named))

    return cast("F", made)
