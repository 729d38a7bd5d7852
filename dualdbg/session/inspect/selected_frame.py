"""Asks gdb about the thread and frame that the user has selected, in the words in which gdb answers its users."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from ..engines import UserCommands
from ..ports import Halting, HeldThreads

T = TypeVar("T")
Where = Callable[[], Awaitable["tuple[int, int | None] | None"]]
"""The OS thread id and the level of a native frame in it, where one is selected; None where no thread is."""


class Debuggee(Halting, Protocol):
    """What is needed of a session."""

    @property
    def native(self) -> UserCommands:
        """What is asked of gdb."""

    @property
    def inspector(self) -> HeldThreads:
        """The threads of the target."""


async def in_gdb(session: Debuggee, where: Where, ask: Callable[[UserCommands], Awaitable[T]]) -> T:
    """What ``ask`` gets of gdb. A running target is halted for it. ``where`` is awaited while gdb holds it."""

    async def selected() -> T:
        place = await where()
        if place is not None:
            tid, level = place
            await session.native.select(await session.inspector.gdb_thread(tid), level)
        return await ask(session.native)

    return await session.interrupted(selected)
