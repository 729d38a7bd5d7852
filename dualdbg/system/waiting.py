"""Waits that neither lose a cancellation nor are cut short by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")
U = TypeVar("U")


async def settled(work: Awaitable[T], seconds: float) -> T:
    """The result of ``work``. Raises asyncio.TimeoutError after so many seconds; the work is cancelled then.

    asyncio.wait_for of Python 3.11 and older returns the result when a cancellation comes in the same turn of the
    loop. Who is to end then goes on, and a session that was to end waits for ever.
    """
    future = asyncio.ensure_future(work)
    try:
        await asyncio.wait([future], timeout=seconds)
        if not future.done():
            raise asyncio.TimeoutError
        return future.result()
    finally:
        abandon(future)


async def first_of(*works: Awaitable[Any], seconds: float | None = None) -> None:
    """Wait until one of ``works`` is done, or for so many seconds. The others are cancelled."""
    futures = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(futures, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for future in futures:
            abandon(future)


async def together(first: Awaitable[T], second: Awaitable[U]) -> tuple[T, U]:
    """The results of two works that are done at the same time. When one fails the other is done first."""
    one, other = asyncio.ensure_future(first), asyncio.ensure_future(second)
    await asyncio.gather(one, other, return_exceptions=True)
    return one.result(), other.result()


def abandon(future: asyncio.Future[Any]) -> None:
    """Nobody waits for ``future`` any more: it is cancelled, and a failure that comes all the same is no news."""
    future.cancel()
    future.add_done_callback(lambda done: done.cancelled() or done.exception())


async def to_its_end(work: Awaitable[T]) -> T:
    """The result of ``work``, which is not cut short. A cancellation that comes meanwhile is raised afterwards.

    The very same exception is raised: anyio recognises its own by it, and ends all its tasks at any other one.
    """
    future = asyncio.ensure_future(work)
    cancellation: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancellation = error
    if cancellation is not None:
        abandon(future)
        raise cancellation
    return future.result()
