"""An event loop whose time passes at once: an hour of delays takes milliseconds, and is the same each time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Idle(AssertionError):
    """Everything waits, and nothing that could end it is under way."""


class _Selector(selectors.SelectSelector):
    """Instead of waiting for a timer it lets the clock jump to it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Idle("every task waits for something that never comes")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Serves timers and callbacks; there is nothing to read from outside."""

    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    def run_in_executor(
        self, executor: Any, function: Callable[..., T], *arguments: Any
    ) -> asyncio.Future[T]:
        """Work in a thread takes no time: its end could not wake this loop."""
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(function(*arguments))
        except Exception as error:
            done.set_exception(error)
        return done
