"""What signals to dualdbg itself mean: Ctrl-C pauses the target, a request to end ends the session first."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from .. import afterwards

if TYPE_CHECKING:
    from ..console.console import Console

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_SIGNAL_BASE = 128


class Interrupts:
    """Handlers of one session. While the target has the terminal, Ctrl-C goes to the target, and gdb catches it there.

    ``interactive``: there is a prompt, so Ctrl-C alone never ends the session.
    """

    def __init__(self, console: Console, interactive: bool) -> None:
        self._console = console
        self._interactive = interactive
        self._received: signal.Signals | None = None

    async def watch(self, work: Coroutine[Any, Any, int]) -> int:
        """Run ``work``; when a signal ends it, returns the status that a shell shows for that signal."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(work)
        loop.add_signal_handler(signal.SIGINT, self._interrupt, task)
        for number in _ENDING:
            loop.add_signal_handler(number, self._end, task, number)
        try:
            return await task
        except asyncio.CancelledError:
            if self._received is None:
                task.cancel()
                raise
            return _SIGNAL_BASE + self._received
        finally:
            for number in (signal.SIGINT, *_ENDING):
                loop.remove_signal_handler(number)

    def _interrupt(self, task: asyncio.Task[int]) -> None:
        stands_still = self._console.stopped and not self._interactive
        if stands_still or not self._console.interrupt():
            self._end(task, signal.SIGINT)

    def _end(self, task: asyncio.Task[int], number: signal.Signals) -> None:
        self._received = number
        task.cancel()
        afterwards.end_us_at_last(_SIGNAL_BASE + number)
