"""Tells the user what takes longer than half a second, and when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from ..model import Event, Progress

PATIENCE = 0.5  # seconds


@asynccontextmanager
async def progress(emit: Callable[[Event], None], what: str) -> AsyncIterator[None]:
    """While the body runs longer than PATIENCE, ``emit`` has been given a Progress; at its end, one that is done."""
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
