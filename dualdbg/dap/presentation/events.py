"""What happens in the session, told to the client: one event of the protocol for each, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Protocol

from ...console.printer import Printer
from ...console.style import Style
from ...console.traces import report_at_end
from ...errors import CommandError
from ...model import (
    BreakpointChanged,
    Detached,
    Event,
    Exit,
    Exited,
    Notice,
    Output,
    Progress,
    Reason,
    Resumed,
    SessionStarted,
    Stopped,
)
from ...protocol import dap_types as dap
from ...session.session import Session
from ..client.conventions import Client
from ..client.port import ClientPort
from ..client.wording import for_an_editor
from ..debuggee import Debuggee
from . import bodies
from .breakpoints import BreakpointBook

_CATEGORIES = {"stdout": "stdout", "stderr": "stderr", "log": "stdout", "console": "console"}
_NOTICES = {"info": "console", "warning": "important", "error": "important"}


class Life(Protocol):
    """What the end of the program, and an error in dualdbg, mean for the client's debug session."""

    def exited(self, exit: Exit) -> None:
        """The program has ended."""

    def over(self) -> None:
        """The target runs on without the debugger."""

    async def guarded(self, work: Awaitable[None]) -> None:
        """Await ``work``. The user is told of an error in it, and nothing else ends."""


class Pump:
    """Takes the events of one session and sends them to one client."""

    def __init__(
        self,
        connection: ClientPort,
        client: Client,
        debuggee: Debuggee,
        breakpoints: BreakpointBook,
        life: Life,
    ) -> None:
        self._connection = connection
        self._client = client
        self._debuggee = debuggee
        self._breakpoints = breakpoints
        self._life = life
        self._task: asyncio.Task[None] | None = None
        self._queue: asyncio.Queue[Event] | None = None
        self._threads: set[int] = set()
        self._progress: dict[str, str] = {}
        self._last_progress = 0
        self.drain_output: Callable[[], None] = lambda: None
        self._process: dap.ProcessEventBody | None = None  # what was told of it
        self.implied: set[int] = set()  # epochs of resumes that the answer of a request already tells of
        self.first_stop_is_ours = False  # attaching stopped the target, and it is to run on at once
        self.entry: int | None = None  # the session's breakpoint that stops at the entry of a native program
        self.thread_by_thread = False  # a stop is told by an event for each thread that the client knows
        self.quiet = asyncio.Lock()  # held while a request that resumes is answered: its answer comes first

    def follow(self, session: Session, events: asyncio.Queue[Event] | None = None) -> None:
        """Begin to tell what happens in ``session``. ``events`` has what has happened already, if anything."""
        self._queue = session.subscribe() if events is None else events
        self._task = asyncio.create_task(self._run(self._queue), name="events")

    def close(self) -> None:
        """Tell no more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def caught_up(self) -> None:
        """Wait until every event so far has been told. Returns at once after :meth:`close`."""
        if self._queue is not None and self._task is not None:
            joined = asyncio.ensure_future(self._queue.join())
            await asyncio.wait({joined, self._task}, return_when=asyncio.FIRST_COMPLETED)
            joined.cancel()

    async def _run(self, queue: asyncio.Queue[Event]) -> None:
        while True:
            event = await queue.get()
            async with self.quiet:
                self.drain_output()
                await self._life.guarded(_TELLERS[type(event)](self, event))
            queue.task_done()

    # -- one function an event --------------------------------------------------------------------

    async def _started(self, event: SessionStarted) -> None:
        self.process_began(event.pid)
        self.threads_are({event.pid})

    def process_began(self, pid: int) -> None:
        """Tell which process it is, once."""
        body: dap.ProcessEventBody = {
            "name": self._debuggee.name,
            "systemProcessId": pid,
            "isLocalProcess": True,
            "startMethod": self._debuggee.start_method,
            "pointerSize": 64,
        }
        if body != self._process:
            self._process = body
            self._connection.event("process", body)

    async def _stopped(self, event: Stopped) -> None:
        if self.first_stop_is_ours:
            self.first_stop_is_ours = False
            return
        stop, rows = event.stop, []
        if stop.breakpoints == (self.entry,):
            stop = replace(stop, reason=Reason.ENTRY)
        for id in stop.breakpoints:
            try:
                rows.append(self._debuggee.session.breakpoints.get(id))
            except CommandError:
                continue  # a temporary breakpoint, which is gone by now
        self.threads_are(self._threads | {stop.thread.tid})
        self._breakpoints.sweep()
        body = bodies.stopped(stop, rows, self._breakpoints.ids(stop.breakpoints))
        if not self.thread_by_thread:
            self._connection.event("stopped", body)
            return
        for one in bodies.stopped_one_by_one(body, sorted(self._threads)):
            self._connection.event("stopped", one)

    async def _resumed(self, event: Resumed) -> None:
        self._debuggee.handles.clear()
        if event.epoch in self.implied:
            self.implied.discard(event.epoch)
            return
        tid = min(self._threads, default=self._debuggee.session.pid)
        self._connection.event("continued", {"threadId": tid, "allThreadsContinued": True})

    async def _breakpoint_changed(self, event: BreakpointChanged) -> None:
        self._breakpoints.changed(event.breakpoint)

    async def _output(self, event: Output) -> None:
        self._connection.output(_CATEGORIES.get(event.stream, "console"), event.text)

    async def _notice(self, event: Notice) -> None:
        text = f"{event.message}\n  {for_an_editor(event.hint)}\n" if event.hint else f"{event.message}\n"
        self._connection.output(_NOTICES.get(event.level, "console"), text)

    async def _progressed(self, event: Progress) -> None:
        connection = self._connection
        if "ProgressReporting" not in self._client.supports:
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
        number = self._progress[event.what]
        if not known:
            started: dap.ProgressStartEventBody = {"progressId": number, "title": event.what}
            if event.fraction is not None:
                started["percentage"] = round(100 * event.fraction)
            connection.event("progressStart", started)
            return
        body: dap.ProgressUpdateEventBody = {"progressId": number}
        if event.fraction is not None:
            body["percentage"] = round(100 * event.fraction)
        connection.event("progressUpdate", body)

    async def _tell_trace(self) -> None:
        report = await report_at_end(self._debuggee.session)
        if report is not None:
            self._connection.output("console", Printer(Style()).render(report))

    async def _exited(self, event: Exited) -> None:
        self.threads_are(set())
        await self._life.guarded(self._tell_trace())
        self._life.exited(event.exit)

    async def _detached(self, event: Detached) -> None:
        await self._life.guarded(self._tell_trace())
        self._life.over()

    # -- threads ----------------------------------------------------------------------------------

    def told_of(self, tid: int) -> bool:
        """Whether the client knows this thread, and has not been told that it ended."""
        return tid in self._threads

    def threads_are(self, now: set[int]) -> None:
        """Tell which threads began and ended since the last time."""
        for tid in sorted(now - self._threads):
            self._connection.event("thread", {"reason": "started", "threadId": tid})
        for tid in sorted(self._threads - now):
            self._connection.event("thread", {"reason": "exited", "threadId": tid})
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
