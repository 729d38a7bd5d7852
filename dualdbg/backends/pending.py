"""Requests that wait for their answer: one future for each token. All of them fail when the engine dies."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from ..errors import EngineError, EngineLost

Answer = TypeVar("Answer")


class PendingRequests(Generic[Answer]):
    """The futures of the requests under way to the engine ``engine``."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._futures: dict[int, asyncio.Future[Answer]] = {}
        self._last_token = 0
        self._lost: EngineLost | None = None

    @property
    def lost(self) -> bool:
        """Whether the engine has died."""
        return self._lost is not None

    def open(self) -> tuple[int, asyncio.Future[Answer]]:
        """A new token and the future of its answer. Raises EngineLost when the engine is already gone."""
        if self._lost is not None:
            raise self._lost
        self._last_token += 1
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._futures[self._last_token] = future
        return self._last_token, future

    def answer(self, token: int, answer: Answer) -> bool:
        """Settle a request; False when nobody waits for this token any more."""
        future = self._futures.pop(token, None)
        if future is None or future.done():
            return False
        future.set_result(answer)
        return True

    def fail(self, token: int, error: EngineError) -> bool:
        """Settle a request whose answer cannot be read; False when nobody waits for this token any more."""
        future = self._futures.pop(token, None)
        if future is None or future.done():
            return False
        future.set_exception(error)
        future.exception()  # no warning for a request that nobody awaits
        return True

    def __len__(self) -> int:
        return len(self._futures)

    def forget(self, token: int) -> None:
        """Nobody waits for this answer any more; an unknown token is no error."""
        self._futures.pop(token, None)

    def fail_all(self, detail: str) -> None:
        """The engine died: everything under way fails with its name, and so does what is asked later."""
        self._lost = EngineLost(f"{self._engine} is gone: {detail}")
        futures, self._futures = self._futures, {}
        for future in futures.values():
            if not future.done():
                future.set_exception(self._lost)
                future.exception()  # no warning for a request that nobody awaits
