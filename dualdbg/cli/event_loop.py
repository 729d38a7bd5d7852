"""Runs a command's coroutine: what goes wrong beside it is told as an error, and not as one of asyncio's tracebacks."""

from __future__ import annotations

import os
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

# asyncio does without ssl where there is none. We have no use for it, and it is a sixth of what asyncio imports.
_HAS_SSL = "ssl" in sys.modules
if not _HAS_SSL:
    sys.modules["ssl"] = None  # type: ignore[assignment]
import asyncio  # noqa: E402

if not _HAS_SSL:
    del sys.modules["ssl"]

from ..system.shortage import shortage  # noqa: E402
from .main import tell  # noqa: E402

T = TypeVar("T")

_OWN_DESCRIPTORS = 3  # of an event loop


def run(work: Coroutine[Any, Any, T]) -> T:
    """As ``asyncio.run``. Raises OSError where no event loop can be made."""
    try:
        _check_descriptors()  # a loop that could not be made prints a traceback when it is collected
    except OSError:
        work.close()
        raise
    if sys.version_info < (3, 12) and can_use_pidfd():
        # As later versions do: a thread for each process, which may be refused, is not needed.
        asyncio.get_event_loop_policy().set_child_watcher(asyncio.PidfdChildWatcher())
    return asyncio.run(_watched(work))


def can_use_pidfd() -> bool:
    """Whether Python and the kernel have pidfd_open(2), the latter from 5.3 on, and a sandbox lets us use it."""
    if not hasattr(os, "pidfd_open"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


async def _watched(work: Coroutine[Any, Any, T]) -> T:
    told: set[str] = set()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        known = shortage(context["exception"]) if "exception" in context else None
        if told and isinstance(context.get("exception"), ValueError):
            return  # asyncio goes on to accept a second later, and the socket may have been closed by then
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
