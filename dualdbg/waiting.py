"""A wait with a deadline that never loses a cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def settled(work: Awaitable[T], seconds: float) -> T:
    """The result of ``work``. Raises asyncio.TimeoutError after so many seconds; the work is cancelled then.

    asyncio.wait_for of Python 3.11 and older returns the result when a cancellation comes in the same turn of the
    loop. Who is to end then goes on, and a session that was to end waits for ever.
    """
    future = asyncio.ensure_future(work)
    try:
        await asyncio.wait([future], timeout=seconds)
    except asyncio.CancelledError:
        future.cancel()
        raise
    if not future.done():
        future.cancel()
        raise asyncio.TimeoutError
    return future.result()
