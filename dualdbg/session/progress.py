"""Tells the user of work that takes longer than half a second, and when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from ..model import Event, Progress

PATIENCE = 0.5  # seconds


@asynccontextmanager
async def progress(emit: Callable[[Event], None], what: str) -> AsyncIterator[None]:
    """Tell of work that takes longer than PATIENCE.

    ``emit`` gets a Progress then, and one that is done when the body ends.
    """
    told = False

    def tell() -> None:
        nonlocal told
        told = True
        emit(Progress(what))

    timer = asyncio.get_running_loop().call_later(PATIENCE, tell)
    try:
        yield
    finally:
        timer.cancel()
        if told:
            emit(Progress(what, done=True))
