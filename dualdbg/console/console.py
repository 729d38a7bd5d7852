"""The front end's side of one session: shows its events in order, holds the selected frame, runs prompt commands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from ..errors import CommandError, DualdbgError
from ..model import (
    Detached,
    Event,
    Exit,
    Exited,
    Frame,
    NativeFrame,
    Notice,
    Output,
    Resumed,
    Stack,
    State,
    Stopped,
)
from ..session.session import Session
from .commands.registry import Command, find_command, split_line
from .reports import ErrorReport, Report

# How pydevd begins to explain why a step went on to the next line (pydevd_net_command_factory_json.py).
_SKIPPED = "Frame skipped from debugging during step-in."
_STOPPED = (State.PYTHON_STOPPED, State.NATIVE_STOPPED)


class Quit(Exception):
    """The user wants to leave."""


@dataclass(frozen=True)
class Selection:
    """The frame that commands speak of: frame ``number`` (as the stack shows it) of the thread ``tid``."""

    tid: int
    number: int = 0


@dataclass
class Listing:
    """Where ``list`` goes on: the last lines that were shown of a file."""

    file: str
    first: int
    last: int


class Console:
    """What prompt commands work on.

    ``show`` writes a report; ``before_event`` is called before an event is shown (output that the target wrote
    before its stop belongs before the stop).
    """

    def __init__(
        self,
        session: Session,
        show: Callable[[Report], None],
        before_event: Callable[[], None] = lambda: None,
    ) -> None:
        self.session = session
        self.show = show
        self.selection: Selection | None = None
        self.listing: Listing | None = None
        self.failed = False
        self.exit: Exit | None = None
        self.detached = False
        self.leaving = False  # the session is being ended by us: how it ends is no news
        self._command: asyncio.Future[None] | None = None
        self._pause_wanted = False  # Ctrl-C came before the target ran again
        self._pause_asked: int | None = None  # the epoch in which a pause was asked for
        self.on_event: Callable[[Event], None] = lambda _event: None
        self._before_event = before_event
        self._events = session.subscribe()
        self._shown = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._consume(), name="console")

    # -- events ---------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        return self.session.ended.is_set()

    @property
    def stopped(self) -> bool:
        return self.session.state in _STOPPED

    async def settle(self) -> None:
        """Wait until the target is stopped or gone, and everything that happened until then is shown."""
        while True:
            await self._flushed()
            if self.ended or self.stopped:
                return
            self._shown.clear()
            await self._while_consuming(self._shown.wait())

    async def flush(self) -> None:
        """Wait until every event so far is shown."""
        await self._flushed()

    async def _flushed(self) -> None:
        await self._while_consuming(self._events.join())

    async def _while_consuming(self, work: Coroutine[Any, Any, object]) -> None:
        """Await ``work``; raises what ended the task that shows events, without which it would wait for ever."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, self._task}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                self._task.result()
        finally:
            task.cancel()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _consume(self) -> None:
        while True:
            event = await self._events.get()
            self._take(event)
            self._events.task_done()
            self._shown.set()

    def _take(self, event: Event) -> None:
        if isinstance(event, Stopped):
            self.selection = Selection(event.stop.thread.tid)
            self.listing = None
        elif isinstance(event, Resumed) and self._pause_wanted:
            self._pause()
        elif isinstance(event, Exited):
            self.exit = event.exit
        elif isinstance(event, Detached):
            self.detached = True
        elif isinstance(event, Output) and event.text.startswith(_SKIPPED):
            event = Notice(
                "info", "code of a library was passed over", "dualdbg run --all-code steps into it"
            )
        self._before_event()
        if not self.leaving:
            self.show(event)
        self.on_event(event)

    # -- commands -------------------------------------------------------------------------------

    async def execute(self, line: str) -> Command | None:
        """Run one line of the prompt; a failure is shown, and remembered in ``failed``. Raises Quit."""
        command: Command | None = None
        try:
            name, argument = split_line(line)
            command = find_command(name)
            await self._interruptible(command.run(self, argument))
        except DualdbgError as error:
            self.failed = True
            await self._flushed()
            self.show(ErrorReport(error.message, error.hint))
        await self._flushed()
        return command

    async def _interruptible(self, work: Awaitable[None]) -> None:
        """Await a command that :meth:`interrupt` may end."""
        running = self._command = asyncio.ensure_future(work)
        try:
            await asyncio.wait({running})
        finally:
            self._command = None
            outer = not running.done()
            running.cancel()
        if running.cancelled() and not outer:
            raise CommandError("interrupted")
        running.result()

    # -- Ctrl-C -----------------------------------------------------------------------------------

    def interrupt(self) -> bool:
        """Ctrl-C: the running target is to stop, now or as soon as it runs; a second one ends the command.

        False when all that was asked for already, and does not come.
        """
        if not self.stopped and not self.ended:
            if self._pause_asked == self.session.epoch:
                return False
            self._pause()
        elif not self._pause_wanted:
            self._pause_wanted = True
        elif self._command is not None:
            self._command.cancel()
        else:
            return False
        return True

    def begin_line(self) -> None:
        """The user is asked for a command: a Ctrl-C of before is history."""
        self._pause_wanted = False

    def _pause(self) -> None:
        self._pause_wanted = False
        self._pause_asked = self.session.epoch
        self.session.background(self.session.pause())

    # -- the selected frame -----------------------------------------------------------------------

    def selected(self) -> Selection:
        self.session.require_stopped()
        assert self.selection is not None
        return self.selection

    async def stack(self) -> Stack:
        """The merged stack of the selected thread."""
        return await self.session.inspector.stack(self.selected().tid)

    async def frame(self) -> Frame:
        """The selected frame."""
        selection = self.selected()
        frames = (await self.stack()).visible()
        if selection.number >= len(frames):
            raise CommandError("this thread has no frame to look at", "bt --all shows what there is")
        return frames[selection.number]

    async def ask_gdb(self, command: str) -> str:
        """What gdb answers to a command in the selected thread and frame; a running target is halted for it."""
        session = self.session

        async def ask() -> str:
            if self.selection is not None and self.stopped:
                number = await session.inspector.gdb_thread(self.selection.tid)
                await session.native.console(f"thread {number}")
                frame = await self.frame() if session.native_held.is_set() else None
                if isinstance(frame, NativeFrame):
                    await session.native.console(f"frame {frame.level}")
            return await session.native.console(command)

        return str(await session.interrupted(ask))
