"""One debug session of a client: its events, the program's output, and the waits for what comes next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ...console.output_pipes import OutputPipes
from ...errors import CommandError
from ...model import Event, Frame, Language, Output, Stack, State
from ...session.session import Session
from ...system.waiting import first_of
from .news import News
from .program_output import ProgramOutput

STOPPED = (State.PYTHON_STOPPED, State.NATIVE_STOPPED)

Subscribe = Callable[[Session], None]
Start = Callable[["Debuggee", Subscribe], Awaitable[Session]]
"""Starts a session; it calls its second argument with the session before anything happens in it."""


class Debuggee:
    """Made by :meth:`begun`. ``id`` is what the client calls it, ``title`` says what is debugged.

    ``afterwards`` says what its end means for that.
    """

    def __init__(self, id: str, title: str, afterwards: str) -> None:
        self.id = id
        self.title = title
        self.afterwards = afterwards
        self.output = ProgramOutput()
        self.news = News()
        self.session: Session
        self._pipes: OutputPipes | None = None
        self._changed = asyncio.Event()
        self._events: asyncio.Queue[Event]
        self._consumer: asyncio.Task[None] | None = None
        self._starting: asyncio.Future[Session]
        self._closed = asyncio.Event()

    async def begin(self, start: Start) -> None:
        """Start the session; returns as soon as there is one. Raises what ``start`` raises; nothing is left then."""
        met: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def subscribe(session: Session) -> None:
            if self._pipes is not None:
                self._pipes.close_write_ends()  # the program has its own by now
            self.session = session
            self._events = session.subscribe()
            self._consumer = asyncio.get_running_loop().create_task(
                self._consume(), name=f"events of {self.id}"
            )
            met.set_result(None)

        self._starting = asyncio.ensure_future(start(self, subscribe))
        self._starting.add_done_callback(lambda _: self._changed.set())
        try:
            waits: list[asyncio.Future[Any]] = [met, self._starting]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if not met.done():
                await self._starting
        except BaseException:
            await self.close()
            raise

    def open_pipes(self) -> dict[str, int]:
        """The standard output and error for a program that is to be started: what it writes there is kept."""
        self._pipes = OutputPipes(lambda piece: self.output.add(piece.stream, piece.text))
        return dict(self._pipes.write_ends)

    def drain(self) -> None:
        """Keep what the program has written until now, as far as its pipes hold it."""
        if self._pipes is not None:
            self._pipes.drain()

    # -- events ---------------------------------------------------------------------------------

    async def _consume(self) -> None:
        while True:
            event = await self._events.get()
            self.drain()
            if isinstance(event, Output):
                self.output.add(event.stream, event.text)
            self.news.take(event)
            self._events.task_done()
            self._changed.set()

    async def flush(self) -> None:
        """Wait until every event so far is taken. Raises the error of what takes them."""
        assert self._consumer is not None
        await first_of(self._events.join(), asyncio.shield(self._consumer))
        if self._consumer.done() and not self._consumer.cancelled():
            self._consumer.result()

    # -- its state --------------------------------------------------------------------------------

    @property
    def is_met(self) -> bool:
        """Whether the session is there: before that it is being made."""
        return self._consumer is not None

    @property
    def stopped(self) -> bool:
        """Whether the program stands, and its stop was taken."""
        stop = self.session.stop
        return self.session.state in STOPPED and stop is not None and self.news.seen_stop == stop.epoch

    @property
    def over(self) -> bool:
        """Whether the session is."""
        return self.session.ended.is_set()

    async def started(self) -> None:
        """Wait until the start is over: the program runs, or stands. Raises what it has failed by."""
        await asyncio.shield(self._starting)

    async def wait(self, seconds: float) -> bool:
        """Wait until the program stands or its session is over, for at most so many seconds; whether it does.

        Raises the error of a start that has failed, CommandError where the session is ended meanwhile.
        """
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            self._changed.clear()
            await self.flush()
            if self._starting.done():
                self._starting.result()
            if self.over or self.stopped:
                return True
            if self._closed.is_set():
                raise CommandError(f"session {self.id} was ended", "run or attach begins another one")
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return False
            await first_of(self._changed.wait(), self._closed.wait(), self.session.ended.wait(), seconds=left)

    # -- the frame that is meant -------------------------------------------------------------------

    def thread(self, tid: int | None) -> int:
        """The thread that is meant: ``tid``, or that of the stop. Raises WrongState while the program runs."""
        stop = self.session.require_stopped()
        return stop.thread.tid if tid is None else tid

    async def stack(self, tid: int | None) -> Stack:
        """The merged stack of a thread, by default of that which stopped."""
        return await self.session.inspector.stack(self.thread(tid))

    async def frame(self, tid: int | None, number: int | None) -> tuple[int, int, Frame]:
        """A thread, a frame's number in it, and the frame; by default those of the stop. Raises CommandError."""
        stop = self.session.require_stopped()
        thread = self.thread(tid)
        frames = (await self.stack(tid)).visible()
        if number is None:
            number = stop.number if thread == stop.thread.tid else 0
        if not 0 <= number < len(frames):
            raise CommandError(
                f"thread {thread} has no frame {number}: they are 0 to {len(frames) - 1}",
                f"stack(session={self.id!r}, thread={thread}) shows them",
            )
        return thread, number, frames[number]

    async def frame_in(self, language: Language, tid: int, number: int) -> Frame:
        """The frame ``number``, or the next one further out that is in ``language``. Raises CommandError."""
        frames = (await self.stack(tid)).visible()
        found = next((one for one in frames[number:] if one.language is language), None)
        if found is None:
            raise CommandError(
                f"thread {tid} has no {language.value} frame from frame {number} outwards",
                f"stack(session={self.id!r}, thread={tid}) shows what it has",
            )
        return found

    # -- its end ----------------------------------------------------------------------------------

    async def close(self) -> None:
        """End the session: a program that was started ends, a process that was attached to goes on."""
        self._closed.set()
        self._starting.cancel()
        await asyncio.gather(self._starting, return_exceptions=True)
        if self._consumer is not None:
            await self.session.close()
            self._consumer.cancel()
            await asyncio.gather(self._consumer, return_exceptions=True)
        if self._pipes is not None:
            self._pipes.close()
