"""The front end's side of a run: shows its events in order, holds the selected frame, runs prompt commands.

A run is one session or, where children are followed, a session for each process; one process is current.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..errors import CommandError, DualdbgError
from ..model import (
    Detached,
    Event,
    Exit,
    Exited,
    Frame,
    Language,
    NativeFrame,
    Notice,
    PythonFrame,
    Reason,
    Resumed,
    Stack,
    State,
    Stopped,
)
from ..session.engines import UserCommands
from ..session.inferiors import Process
from ..session.inspect.selected_frame import in_gdb
from ..session.session import Session
from ..system.shortage import shortage
from ..system.source_files import source_lines
from .at_stops import AtStops
from .commands.registry import Command, find_command, split_line
from .interaction import Interaction
from .reports import ErrorReport, OfProcess, ProcessChanged, Report
from .selection import Listing, Selection
from .traces import report_at_end

T = TypeVar("T")
_STOPPED = (State.PYTHON_STOPPED, State.NATIVE_STOPPED)


class Quit(Exception):
    """The user wants to leave."""


@dataclass
class View:
    """What the user sees of one process."""

    process: Process
    events: asyncio.Queue[Event]
    selection: Selection | None = None
    listing: Listing | None = None
    exit: Exit | None = None
    detached: bool = False
    pause_asked: int | None = field(default=None)  # the epoch in which a pause was asked for

    @property
    def session(self) -> Session:
        """The session of the process."""
        return self.process.session

    @property
    def stopped(self) -> bool:
        """Whether the process is stopped, for Python or for gdb."""
        return self.session.state in _STOPPED

    @property
    def ended(self) -> bool:
        """Whether the session is over."""
        return self.session.ended.is_set()


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
        self.failed = False
        self.attended = False  # somebody can press Ctrl-C
        self.structured = False  # reports go to a program: values come with their children
        self.leaving = False  # we end the session, so its end is not reported
        self.tells_traces = True  # at the end; else the front end does
        self.stops_together = False  # every process stops when one does
        self.at_stops: AtStops | None = AtStops()  # None where the front end runs no lines at stops
        self.takes_python = True  # the front end can ask for lines of Python (interact)
        self.pagination: bool | None = None  # at a prompt, long answers by the screen; None: no prompt comes
        self.interaction: Interaction | None = None  # the lines that are typed now are Python's
        self._show = show
        self._command: asyncio.Future[None] | None = None
        self._pause_wanted = False  # Ctrl-C came before the target ran again
        self._stays = False  # the user looks at a running process: the stop of another does not change that
        self.on_event: Callable[[View, Event], None] = lambda _view, _event: None
        self._before_event = before_event
        self._shown = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.views: list[View] = []
        self.current = self._view(Process(1, session))

    # -- processes ------------------------------------------------------------------------------

    def _view(self, process: Process) -> View:
        view = View(process, process.session.subscribe())
        self.views.append(view)
        work = self._consume(view)
        self._tasks.append(asyncio.get_running_loop().create_task(work, name=f"console {process.number}"))
        return view

    def join(self, process: Process) -> None:
        """Another process of the run. To be called before anything happens in its session."""
        self._view(process)
        self.show(ProcessChanged(process.number, process.session.pid, process.title, "joined"))
        self._shown.set()

    @property
    def session(self) -> Session:
        """The session of the current process."""
        return self.current.session

    @property
    def selection(self) -> Selection | None:
        """The selected thread and frame of the current process; None while none is selected."""
        return self.current.selection

    @selection.setter
    def selection(self, selection: Selection | None) -> None:
        self.current.selection = selection

    @property
    def listing(self) -> Listing | None:
        """The lines of source that ``list`` has shown last; None before it has."""
        return self.current.listing

    @listing.setter
    def listing(self, listing: Listing | None) -> None:
        self.current.listing = listing

    @property
    def exit(self) -> Exit | None:
        """How the launched process ended."""
        return self.views[0].exit

    @property
    def detached(self) -> bool:
        """Whether the user has let go of the first process."""
        return self.views[0].detached

    @property
    def others(self) -> list[View]:
        """The views of all processes but the current one."""
        return [view for view in self.views if view is not self.current]

    def turn_to(self, view: View) -> None:
        """Make a process the one that commands work on."""
        if view is not self.current:
            self.current = view
            # dualdbg has the terminal while the process stands still.
            for react in view.session.after_stop if view.stopped else []:
                react()
        self._stays = not view.stopped

    def turn_to_a_stop(self) -> None:
        """When the current process runs, make one current that stands still.

        A step of the current process is waited for, where somebody can press Ctrl-C: it may wait for the other one.
        """
        if self.current.stopped or (self._stays and not self.current.ended):
            return
        if self._steps():
            return
        stopped = [view for view in self.views if view.stopped]
        if stopped:
            self.turn_to(
                min(stopped, key=lambda view: view.session.stop.seconds if view.session.stop else 0.0)
            )
            process = self.current.process
            self.show(ProcessChanged(process.number, self.session.pid, process.title, "current"))

    def _steps(self) -> bool:
        return self.attended and self.current.session.steps and not self.current.ended

    def show(self, report: Report) -> None:
        """Write a report of the current process."""
        self._show_of(self.current, report)

    def _show_of(self, view: View, report: Report) -> None:
        one = len(self.views) == 1
        self._show(report if one else OfProcess(view.process.number, view is self.current, report))

    # -- events ---------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether the sessions of all processes are over."""
        return all(view.ended for view in self.views)

    @property
    def stopped(self) -> bool:
        """Whether the current process is stopped."""
        return self.current.stopped

    async def settle(self, give_up: Callable[[], bool] = lambda: False) -> None:
        """Wait until a process is stopped or all have ended, and until everything that has happened is shown.

        ``give_up``, asked before each wait, ends it.
        """
        while True:
            await self.flush()
            self.turn_to_a_stop()
            line = self.due_line()
            if line is not None:
                await self.execute(line)
                continue
            if self.ended or self.stopped or self._stays or give_up():
                return
            self._shown.clear()
            await self._while_consuming(self._shown.wait())

    def due_line(self) -> str | None:
        """The next line that is to be run at this stop, before the user is asked; the caller runs it."""
        if self._command is not None or self.at_stops is None:
            return None
        return self.at_stops.next_line(self.stopped)

    def waits_in_vain(self) -> bool:
        """Whether no breakpoint will stop any of the processes, all of which run."""
        running = [view.session for view in self.views if not view.ended]
        return bool(running) and all(session.waits_in_vain() for session in running)

    async def flush(self) -> None:
        """Wait until every event so far is shown."""
        for view in self.views:
            await self._while_consuming(view.events.join())

    async def until_current_ends(self) -> None:
        """Wait until the session of the current process is over."""
        await self.current.session.ended.wait()

    async def _while_consuming(self, work: Coroutine[Any, Any, object]) -> None:
        """Await ``work``. Raises the error of a task that shows events: without that task it would wait for ever."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, *self._tasks}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                for consuming in self._tasks:
                    if consuming.done():
                        consuming.result()
        finally:
            task.cancel()

    async def close(self) -> None:
        """End what runs beside the prompt. The sessions stay as they are."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close_sessions(self) -> None:
        """End the sessions of all processes, the launched one first: else it would report the end of its children."""
        first, *others = self.views
        await first.session.close()
        await asyncio.gather(*(view.session.close() for view in others))

    async def _consume(self, view: View) -> None:
        while True:
            event = await view.events.get()
            self._take(view, event)
            if isinstance(event, (Exited, Detached)) and self.tells_traces and not self.leaving:
                await self._tell_trace(view)
            view.events.task_done()
            self._shown.set()

    async def _tell_trace(self, view: View) -> None:
        """The process has ended, or was let go of: say what was found of its calls."""
        try:
            report: Report | None = await report_at_end(view.session)
        except DualdbgError as error:
            report = ErrorReport(error.message, error.hint)
        if report is not None:
            self._show_of(view, report)

    def _take(self, view: View, event: Event) -> None:
        silent = self._silently(view, event)
        if isinstance(event, Stopped):
            view.selection = Selection(event.stop.thread.tid, event.stop.number)
            view.listing = None
            self._stays = self._stays and view is not self.current
            if self.stops_together and event.stop.reason is not Reason.PAUSE:
                self._pause_all()
        elif isinstance(event, Resumed) and self._pause_wanted:
            self._pause()
        elif isinstance(event, Resumed) and view is self.current:
            self._resume_paused()
        elif isinstance(event, Exited):
            view.exit = event.exit
        elif isinstance(event, Detached):
            view.detached = True
        self._before_event()
        if not self.leaving and not silent:
            self._show_of(view, event)
            if isinstance(event, Stopped) and view is not self.current and self._steps():
                number = self.current.process.number
                text = f"the step in process {number} goes on"
                hint = f"Ctrl-C pauses it; process {view.process.number} goes to this stop"
                self._show_of(view, Notice("info", text, hint))
        self.on_event(view, event)

    def _silently(self, view: View, event: Event) -> bool:
        """Note what is to be done at a stop of the current process. Returns whether nothing is told of the stop."""
        if self.at_stops is None or (view is not self.current and self.current.stopped):
            return False
        if isinstance(event, Resumed):
            self.at_stops.resumed()
        elif isinstance(event, Stopped):
            frame = event.stop.frame
            file = frame.file if frame is not None and self.at_stops.sticky else None
            has_source = file is not None and bool(source_lines(file))
            natively = event.stop.origin is Language.NATIVE
            self.at_stops.stopped(event.stop.breakpoints, has_source, natively)
            return self.at_stops.is_silent(event.stop.breakpoints) and not self.structured
        return False

    def _resume_paused(self) -> None:
        """The current process runs on: resume those too that stand still only because it did, or by Ctrl-C."""
        for view in self.others:
            stop = view.session.stop
            if view.stopped and stop is not None and stop.reason is Reason.PAUSE:
                view.session.background(view.session.resume())

    # -- commands -------------------------------------------------------------------------------

    async def execute(self, line: str) -> Command | None:
        """Run one line of the prompt; a failure is shown, and remembered in ``failed``. Raises Quit."""
        command: Command | None = None
        if self.at_stops is not None and self.at_stops.is_reading:
            self.at_stops.read(line)
            return None
        try:
            if self.interaction is not None:
                await self._interruptible(self._interact(self.interaction, line))
            else:
                name, argument = split_line(line)
                command = find_command(name)
                await self._interruptible(command.run(self, argument))
        except (DualdbgError, OSError) as failure:
            error = failure if isinstance(failure, DualdbgError) else shortage(failure)
            if error is None:
                raise
            self.failed = True
            await self.flush()
            message = error.message
            if self.at_stops is not None and self.at_stops.failed():
                message += "; what follows in the file is not done"
            self.show(ErrorReport(message, error.hint))
        await self.flush()
        return command

    async def _interact(self, interaction: Interaction, line: str) -> None:
        """One line of Python's prompt. Raises CommandError where the program does not stand there any more."""
        stop = self.session.stop
        if stop is None or stop.epoch != interaction.epoch:
            self.interaction = None
            raise CommandError(
                "the program has moved on: interact is over, and this line was not run",
                "interact begins anew",
            )
        if interaction.is_last(line):
            self.interaction = None
        elif text := interaction.read(line):
            await interaction.run(text)

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
        """Ctrl-C: stop what runs, now or as soon as it runs. A second Ctrl-C ends the command.

        False when all of that was asked for already, and has no effect.
        """
        if not self.stopped and not self.ended:
            if all(view.pause_asked == view.session.epoch for view in self._running()):
                return False
            self._pause()
        elif not self._pause_wanted:
            self._pause_wanted = True
        elif self._command is not None:
            self._command.cancel()
        else:
            return False
        return True

    def cancel(self) -> bool:
        """End the command that is under way; False when there is none."""
        if self._command is None:
            return False
        self._command.cancel()
        return True

    def begin_line(self) -> None:
        """The user is asked for a command: an earlier Ctrl-C does not count any more."""
        self._pause_wanted = False

    def _pause(self) -> None:
        self._pause_wanted = False
        self._stays = False
        self._pause_all()

    def _pause_all(self) -> None:
        for view in self._running():
            view.pause_asked = view.session.epoch
            view.session.background(view.session.pause())

    def _running(self) -> list[View]:
        return [view for view in self.views if not view.stopped and not view.ended]

    # -- the selected frame -----------------------------------------------------------------------

    def selected(self) -> Selection:
        """The selected thread and frame. Raises WrongState while the process runs."""
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
        """gdb's answer to a command that the user has typed, as :meth:`in_gdb`."""
        hits = self.session.hits
        return await self.in_gdb(lambda gdb: hits.ask_gdb(command))

    async def in_gdb(self, ask: Callable[[UserCommands], Awaitable[T]]) -> T:
        """What gdb answers in the selected thread and frame; a running target is halted for it."""
        return await in_gdb(self.session, self._where, ask)

    async def _where(self) -> tuple[int, int | None] | None:
        if self.selection is None or not self.stopped:
            return None
        frame = await self._native_frame()
        return self.selection.tid, frame.level if frame is not None else None

    async def python_frame(self) -> PythonFrame | None:
        """The selected frame at a stop, if it is one of Python."""
        frame = await self.frame() if self.stopped else None
        return frame if isinstance(frame, PythonFrame) else None

    async def _native_frame(self) -> NativeFrame | None:
        """The selected frame at a stop, if gdb holds the target and the frame is native."""
        frame = await self.frame() if self.session.native_held.is_set() else None
        return frame if isinstance(frame, NativeFrame) else None

    async def with_gdb_frame(self, work: Callable[[tuple[int, int] | None], Awaitable[object]]) -> None:
        """Do ``work`` with the selected native frame (gdb's thread, the level), while gdb holds the target.

        It gets None where no native frame is selected.
        """

        async def do() -> None:
            frame = await self._native_frame() if self.stopped else None
            if self.selection is None or frame is None:
                await work(None)
            else:
                await work((await self.session.inspector.gdb_thread(self.selection.tid), frame.level))

        await self.session.interrupted(do)
