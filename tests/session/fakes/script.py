"""Plays a script with a running program under the fake engines."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from dualdbg.session.session import Session
from dualdbg.session.transitions.beginning import begin

from .assembly import assemble
from .clock import VirtualLoop
from .world import World


class Calm(random.Random):
    """Chances of a world in which nothing happens that is unlikely: what goes wrong, the script says."""

    def random(self) -> float:
        return 1.0

    def getrandbits(self, k: int) -> int:
        return super().getrandbits(k)


Play = Callable[[Session, World], Awaitable[None]]


def play(script: Play) -> list[dict[str, Any]]:
    """Play with a running program. Returns what asyncio would write of lost failures."""
    lost: list[dict[str, Any]] = []
    loop = VirtualLoop()
    loop.set_exception_handler(lambda _, context: lost.append(context))

    async def work() -> None:
        world = World(Calm(1))
        session = assemble(world)
        await session.breakpoints.python_connected()
        session.run()
        await session.loop.ask(begin)
        try:
            await script(session, world)
        finally:
            await session.end_tasks()
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    try:
        loop.run_until_complete(work())
    finally:
        loop.close()
    return lost
