"""Waits that neither lose a cancellation nor are cut short by one."""

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


async def to_its_end(work: Awaitable[T]) -> T:
    """The result of ``work``, which is done whole; a cancellation that comes meanwhile is raised afterwards."""
    future = asyncio.ensure_future(work)
    cancelled = False
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    return future.result()
