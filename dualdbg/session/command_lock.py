"""One command of the front ends at a time."""

from __future__ import annotations

import asyncio
from typing import Any


class CommandLock:
    """One command at a time. Commands that a command uses are a part of it."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._owner: asyncio.Task[Any] | None = None
        self._depth = 0

    @property
    def is_held(self) -> bool:
        """Whether a command is being carried out."""
        return self._depth > 0

    async def __aenter__(self) -> None:
        if self._owner is not asyncio.current_task():
            await self._lock.acquire()
            self._owner = asyncio.current_task()
        self._depth += 1

    async def __aexit__(self, *exception: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
            self._lock.release()
