"""Runs a command's coroutine: what goes wrong beside it is told as an error, and not as a traceback of asyncio's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any, TypeVar

from ..shortage import shortage
from .main import tell

T = TypeVar("T")

_OWN_DESCRIPTORS = 3  # of an event loop


def run(work: Coroutine[Any, Any, T]) -> T:
    """As ``asyncio.run``. Raises OSError where no event loop can be made."""
    try:
        _check_descriptors()  # a loop that could not be made prints a traceback when it is collected
    except OSError:
        work.close()
        raise
    return asyncio.run(_watched(work))


async def _watched(work: Coroutine[Any, Any, T]) -> T:
    told: set[str] = set()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        known = shortage(context["exception"]) if "exception" in context else None
        if known is None:
            loop.default_exception_handler(context)
        elif known.message not in told:
            told.add(known.message)
            tell(known.message, known.hint)

    asyncio.get_running_loop().set_exception_handler(handle)
    return await work


def _check_descriptors() -> None:
    opened = []
    try:
        for _ in range(_OWN_DESCRIPTORS):
            opened.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    finally:
        for descriptor in opened:
            os.close(descriptor)
