"""What happens in the session, told to the client: one event of the protocol for each, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ..errors import CommandError
from ..model import (
    BreakpointChanged,
    Detached,
    Event,
    Exited,
    Notice,
    Output,
    Progress,
    Resumed,
    SessionStarted,
    Stopped,
)
from ..session.session import Session
from . import translate

if TYPE_CHECKING:
    from .adapter import Adapter

_CATEGORIES = {"stdout": "stdout", "stderr": "stderr", "console": "console"}
_NOTICES = {"info": "console", "warning": "important", "error": "important"}


class Pump:
    """Takes the events of one session and sends them to one client."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._task: asyncio.Task[None] | None = None
        self._queue: asyncio.Queue[Event] | None = None
        self._threads: set[int] = set()
        self._progress: dict[str, str] = {}
        self._last_progress = 0
        self.drain_output: Callable[[], None] = lambda: None
        self.implied: set[int] = set()  # epochs of the resumes that a request's own answer tells
        self.first_stop_is_ours = False  # attaching stopped the target, and it is to run on at once
        self.quiet = asyncio.Lock()  # held while a request that resumes is answered: its answer comes first

    def follow(self, session: Session, events: asyncio.Queue[Event] | None = None) -> None:
        """Begin to tell what happens in ``session``; called before anything does, unless ``events`` has it all."""
        self._queue = session.subscribe() if events is None else events
        self._task = asyncio.create_task(self._run(self._queue), name="events")

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def caught_up(self) -> None:
        """Wait until every event so far has been told, unless none is told any more."""
        if self._queue is not None and self._task is not None:
            joined = asyncio.ensure_future(self._queue.join())
            await asyncio.wait({joined, self._task}, return_when=asyncio.FIRST_COMPLETED)
            joined.cancel()

    async def _run(self, queue: asyncio.Queue[Event]) -> None:
        while True:
            event = await queue.get()
            async with self.quiet:
                self.drain_output()
                await self._adapter.guarded(_TELLERS[type(event)](self, event))
            queue.task_done()

    # -- one function an event --------------------------------------------------------------------

    async def _started(self, event: SessionStarted) -> None:
        adapter = self._adapter
        adapter.connection.event(
            "process",
            {
                "name": adapter.process_name,
                "systemProcessId": event.pid,
                "isLocalProcess": True,
                "startMethod": adapter.start_method,
                "pointerSize": 64,
            },
        )
        self.threads_are({event.pid})

    async def _stopped(self, event: Stopped) -> None:
        adapter = self._adapter
        if self.first_stop_is_ours:
            self.first_stop_is_ours = False
            return
        rows = []
        for id in event.stop.breakpoints:
            try:
                rows.append(adapter.session.breakpoints.get(id))
            except CommandError:
                continue  # a temporary one, which is gone by now
        self.threads_are(self._threads | {event.stop.thread.tid})
        adapter.breakpoints.sweep()
        adapter.connection.event(
            "stopped", translate.stopped(event.stop, rows, adapter.breakpoints.ids(event.stop.breakpoints))
        )

    async def _resumed(self, event: Resumed) -> None:
        adapter = self._adapter
        adapter.tables.clear()
        if event.epoch in self.implied:
            self.implied.discard(event.epoch)
            return
        tid = min(self._threads, default=adapter.session.pid)
        adapter.connection.event("continued", {"threadId": tid, "allThreadsContinued": True})

    async def _breakpoint_changed(self, event: BreakpointChanged) -> None:
        self._adapter.breakpoints.changed(event.breakpoint)

    async def _output(self, event: Output) -> None:
        self._adapter.connection.output(_CATEGORIES.get(event.stream, "console"), event.text)

    async def _notice(self, event: Notice) -> None:
        text = f"{event.message}\n  {event.hint}\n" if event.hint else f"{event.message}\n"
        self._adapter.connection.output(_NOTICES.get(event.level, "console"), text)

    async def _progressed(self, event: Progress) -> None:
        connection = self._adapter.connection
        if "ProgressReporting" not in self._adapter.client.supports:
            return
        if event.done:
            number = self._progress.pop(event.what, None)
            if number is not None:
                connection.event("progressEnd", {"progressId": number})
            return
        known = event.what in self._progress
        if not known:
            self._last_progress += 1
            self._progress[event.what] = str(self._last_progress)
        body: dict[str, Any] = {"progressId": self._progress[event.what]}
        if event.fraction is not None:
            body["percentage"] = round(100 * event.fraction)
        if not known:
            body["title"] = event.what
        connection.event("progressUpdate" if known else "progressStart", body)

    async def _exited(self, event: Exited) -> None:
        adapter = self._adapter
        self.threads_are(set())
        adapter.exited(event.exit)

    async def _detached(self, event: Detached) -> None:
        self._adapter.over()

    # -- threads ----------------------------------------------------------------------------------

    def threads_are(self, now: set[int]) -> None:
        """Tell which threads began and ended since the last time."""
        for tid in sorted(now - self._threads):
            self._adapter.connection.event("thread", {"reason": "started", "threadId": tid})
        for tid in sorted(self._threads - now):
            self._adapter.connection.event("thread", {"reason": "exited", "threadId": tid})
        self._threads = set(now)


_TELLERS: dict[type, Callable[[Pump, Any], Awaitable[None]]] = {
    SessionStarted: Pump._started,
    Stopped: Pump._stopped,
    Resumed: Pump._resumed,
    BreakpointChanged: Pump._breakpoint_changed,
    Output: Pump._output,
    Notice: Pump._notice,
    Progress: Pump._progressed,
    Exited: Pump._exited,
    Detached: Pump._detached,
}
