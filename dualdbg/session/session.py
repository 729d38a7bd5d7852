"""The owner of one target: it alone knows the state, and it alone tells either engine to go or to stop.

Engines report into one inbox; one task takes the reports in order and changes the state. Commands of the front ends
run in their callers' tasks and end as soon as the engine has taken them; the stop that follows is an event.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

from ..backends import events as engine
from ..errors import CommandError, DualdbgError, EngineError, WrongState
from ..model import (
    Detached,
    Event,
    Exit,
    Exited,
    Language,
    Notice,
    Output,
    Reason,
    Resumed,
    State,
    Stop,
    Stopped,
    Thread,
)
from .breakpoint_table import BreakpointTable
from .command_lock import CommandLock
from .deaths import watch_death
from .engines import NativeEngine, PythonEngine
from .freezing import Freezer
from .holds import NativeHold, PythonHold
from .inspector import Inspector
from .judge import Judge
from .pauses import Pauses
from .python_stops import PythonStops
from .stepping import Stepper

INTERRUPT_DEADLINE = 10.0
END_DEADLINE = 5.0
END_LOOK = 0.2  # between two looks whether gdb holds a target that was killed
HANG_UP_DEADLINE = 3.0  # for what debugpy does when it is let go of


class Session:
    """One target with its two engines. Made by :mod:`dualdbg.session.start`."""

    def __init__(self, pid: int, native: NativeEngine, python: PythonEngine | None, started: float) -> None:
        self.pid = pid
        self.native = native
        self.python = python
        self.started = started
        self.state = State.STARTING
        self.epoch = 0
        self.stop: Stop | None = None
        self.exit: Exit | None = None
        self.breakpoints: BreakpointTable
        self.inspector: Inspector
        self.judge: Judge
        self.stepper = Stepper(self)
        self.pauses = Pauses(self)
        self.python_stops = PythonStops(self)
        self.freezer = Freezer(self)
        self.before_resume: list[Callable[[], None]] = []
        self.after_stop: list[Callable[[], None]] = []
        self.before_native_stop: list[Callable[[Stop], Awaitable[None]]] = []  # done before it is told
        self.repair: Callable[[], object] | None = None  # of an attached target, when gdb died over it
        self.at_close: list[Callable[[], None]] = []
        self.before_detach: list[Callable[[], Awaitable[None]]] = []  # while gdb still holds the target
        self.python_holds: dict[int, PythonHold] = {}
        self.native_hold: NativeHold | None = None
        self.native_held = asyncio.Event()  # set while gdb shows a stop: debugpy is mute then
        self.entry_expected = False
        self.interrupt_pauses = True  # Ctrl-C in the target's terminal is meant for us
        self._inbox: asyncio.Queue[engine.EngineEvent] = asyncio.Queue()
        self._subscribers: list[asyncio.Queue[Event]] = []
        self._command = CommandLock()
        self._task: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[bool]] = set()
        self.ended = asyncio.Event()
        self.log: Callable[[str], None] = lambda text: None
        self.wait_for_exit: Callable[[], Awaitable[Exit]] | None = None
        self.end_target: Callable[[], None] | None = None
        self.target: Any = None

    # -- events -------------------------------------------------------------------------------

    def report(self, event: engine.EngineEvent) -> None:
        """An engine's report; called by the backends' reader tasks."""
        self._inbox.put_nowait(event)

    def subscribe(self) -> asyncio.Queue[Event]:
        """A queue that gets every event from now on."""
        queue: asyncio.Queue[Event] = asyncio.Queue()
        self._subscribers.append(queue)
        return queue

    def emit(self, event: Event) -> None:
        for queue in self._subscribers:
            queue.put_nowait(event)

    def run(self) -> None:
        """Begin to take the engines' reports."""
        self._task = asyncio.get_running_loop().create_task(self._take_reports(), name="session")
        if self.wait_for_exit is not None:
            self.background(self._watch_exit())
            self.background(watch_death(self))

    def background(self, work: Any) -> None:
        """Run a coroutine beside the session; its failure is told to the user, never lost."""
        task = asyncio.get_running_loop().create_task(self._guarded(work))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _guarded(self, work: Awaitable[None]) -> bool:
        """Whether the work was done; why not has been told."""
        try:
            await work
            return True
        except DualdbgError as error:
            if not self.ended.is_set():
                self.emit(Notice("error", error.message, error.hint))
        except Exception as error:  # a defect of ours must not leave the target frozen without a word
            self.log(traceback.format_exc())
            text = f"internal error, {type(error).__name__}: {error}"
            self.emit(Notice("error", text, "run again with --log-dir DIR: session.log says where"))
        return False

    async def _take_reports(self) -> None:
        while True:
            event = await self._inbox.get()
            done = await self._guarded(_HANDLERS[type(event)](self, event))
            over = self.state in (State.EXITED, State.DETACHED, State.LOST)
            if not done and not over and isinstance(event, engine.NativeStopped) and not self.native.running:
                self._show_unjudged(event)

    def _show_unjudged(self, event: engine.NativeStopped) -> None:
        """What a stop means could not be worked out (the user was told why): it is shown as it is."""
        tid = event.thread or self.pid
        self.native_hold = NativeHold(event, tid, event.gdb_thread or 1)
        self.native_held.set()
        self.epoch += 1
        thread = Thread(tid, self.inspector.thread_name(tid))
        stop = Stop(self.epoch, Language.NATIVE, Reason.PAUSE, thread, None, (), event.reason, self.seconds())
        self.enter(State.NATIVE_STOPPED, stop)

    # -- state --------------------------------------------------------------------------------

    def require(self, *states: State) -> None:
        """Raises WrongState unless the target is in one of ``states``."""
        if self.state in states:
            return
        if self.state in (State.RUNNING, State.STARTING):
            raise WrongState("the target is running", "pause it first: press Ctrl-C, or type pause")
        raise WrongState(f"the target has ended ({self.state.value})", "type quit")

    def require_stopped(self) -> Stop:
        self.require(State.PYTHON_STOPPED, State.NATIVE_STOPPED)
        assert self.stop is not None
        return self.stop

    def leave(self) -> Callable[[], None]:
        """The target is about to run; returns what takes that back when an engine refuses."""
        previous = self.state, self.stop, self.epoch
        self.state = State.RUNNING
        self.stop = None
        self.epoch += 1
        self.inspector.forget()
        self.native_held.clear()
        for prepare in self.before_resume:
            prepare()
        self.emit(Resumed(self.epoch))

        def undo() -> None:
            self.state, self.stop, self.epoch = previous
            if self.state is State.NATIVE_STOPPED:
                self.native_held.set()

        return undo

    def enter(self, state: State, stop: Stop) -> None:
        self.state = state
        self.stop = stop
        self.pauses.met()
        for react in self.after_stop:
            react()
        self.emit(Stopped(stop))

    def seconds(self) -> float:
        return round(time.monotonic() - self.started, 3)

    # -- commands -----------------------------------------------------------------------------

    async def resume(self) -> None:
        """Let the target run on."""
        async with self._command:
            self.require_stopped()
            await self.stepper.resume()

    async def step(
        self, kind: str, location: str | None = None, target: int | None = None, tid: int | None = None
    ) -> None:
        """``kind`` is next, step, finish or until, in the language of the thread ``tid`` (that of the stop).

        Natively also stepi and nexti. In Python ``target`` is one of debugpy's: of its ``stepInTargets`` for step, of
        its ``gotoTargets`` for goto, which moves the point of execution.
        """
        async with self._command:
            stop = self.require_stopped()
            await self.stepper.step(kind, location, target, stop.thread.tid if tid is None else tid)

    async def pause(self) -> None:
        """Stop the target wherever it is: in Python where it runs Python, else natively."""
        self.require(State.RUNNING)
        await self.pauses.ask()

    def expect_interrupt(self) -> asyncio.Future[bool]:
        """See :meth:`Pauses.expect`."""
        return self.pauses.expect()

    async def interrupted(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Run ``work`` while gdb holds the target; at a native stop at once, else within a short halt.

        Raises WrongState when a stop of its own came in between: that one is shown, and nothing was done.
        """
        if self.native_held.is_set():
            return await work()
        async with self._command:
            if self.native_held.is_set():
                return await work()
            self.require(State.RUNNING, State.PYTHON_STOPPED)
            if not await self.pauses.halt(INTERRUPT_DEADLINE):
                raise WrongState("the target stopped for another reason meanwhile", "look at the new stop")
            try:
                await self.freezer.release()
                return await work()
            finally:
                if self.state not in (State.EXITED, State.LOST):
                    await self.freezer.park()
                    await self.native.resume()

    async def detach(self) -> None:
        """Let go of the target: it runs on, without breakpoints and without us."""
        async with self._command:
            self.require(State.RUNNING, State.PYTHON_STOPPED, State.NATIVE_STOPPED)
            if self.python is not None and self.python.connected and self.state is State.NATIVE_STOPPED:
                self.python.post("disconnect", {"terminateDebuggee": False})
            elif self.python is not None and self.python.connected:
                await self.python.request("disconnect", {"terminateDebuggee": False})
            if self.native.running:
                await self.pauses.halt(INTERRUPT_DEADLINE)
            await self.freezer.thaw_all()
            for undo in self.before_detach:
                await undo()
            for prepare in self.before_resume:
                prepare()
            await self.native.detach()
            if self.python is not None and not await self.python.hang_up(HANG_UP_DEADLINE):
                self.emit(Notice("info", "what debugpy left in the target goes when it next runs Python"))
            if self.target is not None:
                self.target.detach()  # it outlives us
            self.state = State.DETACHED
            self.emit(Detached(self.pid))
            self.ended.set()

    async def kill(self) -> None:
        """End a launched target."""
        if self.state in (State.EXITED, State.DETACHED):
            return
        if self.end_target is None:
            raise CommandError(
                "the target was attached to, not started by dualdbg", "type detach, or end it yourself"
            )
        self.end_target()
        end = time.monotonic() + END_DEADLINE
        while not self.ended.is_set() and time.monotonic() < end:
            if not self.native.running:  # at a stop that is shown, or is being judged
                # The kernel tells the end to the tracer first: gdb takes note of it only where it waits for it. To let
                # the target run may fail at a breakpoint, whose step needs the registers of a thread that is gone.
                with contextlib.suppress(DualdbgError):
                    await self.native.console("kill")
            await self._wait_for_end(END_LOOK)

    async def _wait_for_end(self, deadline: float) -> None:
        """Until the end of a target that was killed is reported; only a kernel that is busy with it takes long."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.ended.wait(), deadline)

    async def close(self) -> None:
        """End the session: the engines go, a launched target too unless it was detached; an attached one runs on."""
        if self.end_target is not None:
            if self.state not in (State.EXITED, State.DETACHED):
                self.end_target()
        elif self.state in (State.RUNNING, State.PYTHON_STOPPED, State.NATIVE_STOPPED):
            await self._guarded(self.detach())
        await self.native.close()
        if self.python is not None:
            await self.python.close()
        if self.end_target is not None and self._task is not None:
            await self._wait_for_end(END_DEADLINE)
        await self.end_tasks()
        for release in self.at_close:
            release()

    async def end_tasks(self) -> None:
        """Take no more reports: the engines are gone."""
        own = asyncio.current_task()
        tasks = [task for task in (*self._background, self._task) if task is not None and task is not own]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- reports of gdb -----------------------------------------------------------------------

    async def _native_stopped(self, event: engine.NativeStopped) -> None:
        self.inspector.reader.forget()
        self.inspector.meet(event)
        if await self.judge.is_internal(event):
            verdict = await self.pauses.pass_over()
        elif event.reason == "signal-received" and event.signal == "SIGINT":
            verdict = await self.pauses.interrupted_by_signal(event)
        else:
            verdict = await self.judge.verdict(event) or await self.pauses.pass_over()
        if verdict is None:
            return
        self.pauses.answer(False)
        reason, breakpoints, description = verdict
        gdb_thread, tid = event.gdb_thread or 1, event.thread
        if tid is None or reason is Reason.PAUSE:
            threads = await self.native.threads()
            if reason is Reason.PAUSE:
                # Any thread may have taken the SIGINT; who asks for a stop means the program.
                gdb_thread = next((number for number, one in threads.items() if one == self.pid), gdb_thread)
            tid = threads.get(gdb_thread, self.pid)
        self.native_hold = NativeHold(event, tid, gdb_thread, reason in (Reason.BREAKPOINT, Reason.SIGNAL))
        self.native_held.set()
        self.pauses.answer(False)  # also those who asked for a halt since
        self.epoch += 1
        self.inspector.forget(as_read_now=reason is not Reason.PAUSE and not self.freezer.frozen)
        if reason is Reason.PAUSE and await self.pauses.pause_in_python(tid):
            return
        await self.freezer.release()
        await self.stepper.stopped_natively(reason, event)
        thread = await self.inspector.thread(tid)
        frame = await self.inspector.top_frame(tid)
        stop = Stop(
            self.epoch, Language.NATIVE, reason, thread, frame, breakpoints, description, self.seconds()
        )
        for work in self.before_native_stop:
            await work(stop)
        self.enter(State.NATIVE_STOPPED, stop)
        self.stepper.tell_unfinished()

    async def _native_exited(self, event: engine.NativeExited) -> None:
        if self.wait_for_exit is None:
            self._end(Exit(code=event.code, signal=self.judge.signal_number(event.signal)))

    async def _watch_exit(self) -> None:
        assert self.wait_for_exit is not None
        self._end(await self.wait_for_exit())

    def _end(self, exit: Exit) -> None:
        if self.state in (State.EXITED, State.DETACHED):
            return
        self.exit = exit
        self.pauses.answer(False)
        lost = self.state is State.LOST
        self.state = State.LOST if lost else State.EXITED
        for react in self.after_stop:
            react()
        self.breakpoints.report_unbound()
        self.emit(Exited(exit))
        self.ended.set()

    async def _native_console(self, event: engine.NativeConsole) -> None:
        self.emit(Output("console", event.text))

    async def _native_log(self, event: engine.NativeLog) -> None:
        for id in self.breakpoints.native_owners(event.gdb_breakpoint):
            self.breakpoints.count_hit(id)
            self.emit(Output("console", f"{event.text}\n"))

    # -- reports of debugpy -------------------------------------------------------------------

    async def _python_output(self, event: engine.PythonOutput) -> None:
        self.emit(Output("console", event.text))

    async def _python_breakpoint(self, event: engine.PythonBreakpoint) -> None:
        self.breakpoints.python_changed(event)

    async def _python_ended(self, event: engine.PythonEnded) -> None:
        return None  # the process itself tells how it ended

    async def _engine_ended(self, event: engine.EngineEnded) -> None:
        if self.state in (State.EXITED, State.DETACHED, State.LOST):
            return
        if event.engine == "debugpy":
            self.background(self._python_lost(event.detail))
            return
        self.state = State.LOST
        self.pauses.fail(EngineError(f"gdb is gone: {event.detail}"))
        if self.end_target is not None:
            self.emit(Notice("error", f"gdb is gone: {event.detail}; the target is ended with it", ""))
            self.end_target()
        else:
            if self.repair is not None:  # gdb may have left breakpoints, and the target runs already
                await asyncio.get_running_loop().run_in_executor(None, self.repair)
            self.emit(Notice("error", f"gdb is gone: {event.detail}", "attach again to go on"))
            self.ended.set()

    async def _python_lost(self, detail: str) -> None:
        """debugpy's connection closes when the process ends; when the process goes on, the user is told."""
        try:
            await asyncio.wait_for(self.ended.wait(), 3.0)
        except asyncio.TimeoutError:
            self.python_holds.clear()
            self.emit(
                Notice(
                    "warning",
                    f"debugpy is gone from the target ({detail}); the program itself runs on",
                    "native breakpoints, stacks and steps go on working",
                )
            )
            if self.state is State.PYTHON_STOPPED:
                self.leave()


_HANDLERS: dict[type, Callable[[Session, Any], Awaitable[None]]] = {
    engine.NativeStopped: Session._native_stopped,
    engine.NativeExited: Session._native_exited,
    engine.NativeConsole: Session._native_console,
    engine.NativeLog: Session._native_log,
    engine.PythonStopped: lambda session, event: session.python_stops.stopped(event),
    engine.PythonContinued: lambda session, event: session.python_stops.continued(event),
    engine.PythonOutput: Session._python_output,
    engine.PythonBreakpoint: Session._python_breakpoint,
    engine.PythonEnded: Session._python_ended,
    engine.EngineEnded: Session._engine_ended,
}
