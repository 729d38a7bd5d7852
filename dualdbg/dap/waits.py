"""Waiting for one of several things, or for a limited time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Any, TypeVar

from ..system.waiting import settled

_T = TypeVar("_T")


async def within(seconds: float, work: Awaitable[_T], otherwise: _T) -> _T:
    """The result of ``work``, or ``otherwise`` when it takes longer."""
    with contextlib.suppress(asyncio.TimeoutError):
        return await settled(work, seconds)
    return otherwise


async def first_of(*waits: asyncio.Event | asyncio.Future[Any]) -> None:
    """Wait for the first of them."""
    tasks = {
        wait if isinstance(wait, asyncio.Future) else asyncio.ensure_future(wait.wait()) for wait in waits
    }
    ours = tasks - {wait for wait in waits if isinstance(wait, asyncio.Future)}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in ours:
            task.cancel()
