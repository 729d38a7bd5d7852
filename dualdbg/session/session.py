"""One target: what front ends ask of it, and the one place where the loop's effects become requests and reads.

The state is changed by the loop alone (``loop.py``, ``transitions/``). Commands of front ends run in their callers'
tasks, one at a time, and end when the engine has taken them. The stop that follows is an event.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from ..backends import events as engine
from ..backends import python as debugpy
from ..errors import CommandError, DualdbgError, WrongState
from ..model import Event, Exit, Layer, Notice, Output, State, Stop
from ..system.in_thread import in_thread
from ..system.patience import patient
from ..system.process_end import kill, signal_number
from ..system.waiting import to_its_end
from . import effects as effect
from .breakpoints.table import BreakpointTable
from .command_lock import CommandLock
from .death_watch import GDB_GRACE, give_back, watch_death
from .debugpy_requests import DebugpyRequests
from .engines import NativeEngine, PythonEngine
from .halts import Halts
from .inspect.inspector import Inspector
from .loop import Loop
from .native_runs import NativeRuns
from .state import Pause, TargetState
from .stepping.code_of_interest import CodeOfInterest
from .stepping.freezing import Freezer
from .stepping.probe import Probe
from .stepping.stepper import Stepper
from .stops.facts import PythonHold
from .stops.native_hits import NativeHits
from .stops.native_stops import NativeStops
from .stops.python_stops import PythonStops
from .transitions.beginning import take_interrupts
from .transitions.ending import (
    debugpy_lost,
    detached,
    exited,
    gdb_lost,
    kill_wanted,
    letting_go,
    repaired,
)
from .transitions.halts import pause_look_due, pause_wanted
from .transitions.native import native_stopped
from .transitions.python import library_passed_over, python_continued, python_stopped

T = TypeVar("T")

# How pydevd begins to explain why a step went on to the next line (pydevd_net_command_factory_json.py).
_SKIPPED = "Frame skipped from debugging during step-in."
END_DEADLINE = patient(5.0)
# Seconds for gdb to let go of an attached target, which is repaired where it cannot.
LEAVE_DEADLINE = patient(10.0)
# Seconds for the keeper, which gives up a process that the kernel does not end (target/keeper.py).
CLEAR_DEADLINE = patient(12.0)
END_LOOK = 0.2  # seconds between two looks whether gdb holds a target that was killed
MANY_REPORTS = 1000  # when so many wait, an engine makes no more until some are taken
HANG_UP_DEADLINE = patient(3.0)  # seconds for debugpy to clean up when it is disconnected


class Session:
    """One target with its two engines. Made by :mod:`dualdbg.session.start`."""

    def __init__(self, pid: int, native: NativeEngine, python: PythonEngine | None, started: float) -> None:
        self.pid = pid
        self.native = native
        self.python = python
        self.started = started
        self.loop = Loop(TargetState(pid, self.seconds), self._perform)
        self.breakpoints: BreakpointTable
        self.inspector: Inspector
        self.hits: NativeHits
        self.native_runs: NativeRuns
        self.debugpy_requests: DebugpyRequests
        self.native_stops: NativeStops
        self.new_program: Any  # a NewProgram
        self.trace: Any = None  # of traced.py, once something is counted in the process
        self.python_stops: PythonStops
        self.stepper: Stepper
        self.code: CodeOfInterest
        self.probe: Probe
        self.freezer: Freezer
        self.before_resume: list[Callable[[], None]] = []
        self.after_stop: list[Callable[[], None]] = []
        self.repair: Callable[[], object] | None = None  # when gdb died over a process that was attached to
        self.at_close: list[Callable[[], None]] = []
        self.at_end: list[Callable[[], Awaitable[None]]] = []  # once the target is killed, or let go of
        self.before_detach: list[Callable[[], Awaitable[None]]] = []  # while gdb still holds the target
        self.log: Callable[[str], None] = lambda text: None
        self.close_log: Callable[[], None] = lambda: None
        self.wait_for_exit: Callable[[], Awaitable[Exit]] | None = None
        self.end_target: Callable[[], None] | None = None  # so it ends with us; None where it was attached to
        self.end_attached: Callable[[], None] = partial(kill, pid)
        self.target: Any = None
        self.keeps_target = False  # a target that is let go of still ends with us
        self._gdb_told_an_end = asyncio.Event()  # that of the target, or its own
        self._gdbs_word = Exit()  # how the target has ended, as gdb tells it
        self._command = CommandLock()
        self.halts = Halts(self.loop)

    # -- what can be seen ---------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """What the target does."""
        return self.loop.state.phase

    @property
    def stop(self) -> Stop | None:
        """The stop that is shown; None while the target runs."""
        return self.loop.state.stop

    @property
    def steps(self) -> bool:
        """Whether a step is under way."""
        return self.loop.state.step is not None or self.loop.state.debugpy_step is not None

    @property
    def epoch(self) -> int:
        """Counts stops and resumes. A handle of an older epoch is stale."""
        return self.loop.state.epoch

    @property
    def exit(self) -> Exit | None:
        """How the process ended; None while it lives."""
        return self.loop.state.exit

    @property
    def interrupt_pauses(self) -> bool:
        """Whether Ctrl-C in the target's terminal is meant for us."""
        return self.loop.state.interrupt_pauses

    @interrupt_pauses.setter
    def interrupt_pauses(self, wanted: bool) -> None:
        self.loop.put(take_interrupts, wanted)

    @property
    def ended(self) -> asyncio.Event:
        """Set when nothing follows any more."""
        return self.loop.ended

    @property
    def native_held(self) -> asyncio.Event:
        """Set while gdb shows a stop: debugpy is mute then."""
        return self.loop.native_held

    @property
    def has_python(self) -> bool:
        """Whether debugpy is connected."""
        return self.python is not None and self.python.connected

    @property
    def step_into(self) -> Layer:
        """Where ``step`` enters an operator of PyTorch."""
        return self.code.step_into

    @step_into.setter
    def step_into(self, layer: Layer) -> None:
        self.code.step_into = layer

    @property
    def python_holds(self) -> dict[int, PythonHold]:
        """The threads that debugpy holds, by debugpy's number. Only to be read."""
        return self.loop.state.python_holds

    def require(self, *states: State) -> None:
        """Raises WrongState unless the target is in one of ``states``."""
        self.loop.state.require(*states)

    def has_command(self) -> bool:
        """Whether a command is being carried out."""
        return self._command.is_held

    def require_stopped(self) -> Stop:
        """The stop. Raises WrongState unless the target is stopped."""
        return self.loop.state.require_stopped()

    def seconds(self) -> float:
        """The time since the start of dualdbg."""
        return round(time.monotonic() - self.started, 3)

    def subscribe(self) -> asyncio.Queue[Event]:
        """A queue that gets every event from now on."""
        return self.loop.subscribe()

    def emit(self, event: Event) -> None:
        """Tell every front end."""
        self.loop.tell(event)

    def background(self, work: Awaitable[Any]) -> None:
        """Run a coroutine beside the session. Its failure is told to the user."""
        self.loop.background(work)

    # -- reports of the engines -----------------------------------------------------------------------

    def report(self, event: engine.EngineEvent) -> None:
        """An engine's report; called by the backends' reader tasks."""
        _REPORTS[type(event)](self, event)

    def congested(self) -> bool:
        """Whether more reports wait than can be taken soon. An engine that can wait makes no more then."""
        return self.loop.waiting > MANY_REPORTS

    def run(self) -> None:
        """Begin to take the engines' reports."""
        self.loop.open()
        if self.wait_for_exit is not None:
            self.background(self._watch_exit(self.wait_for_exit))
            self.background(watch_death(self.loop))

    async def _watch_exit(self, wait: Callable[[], Awaitable[Exit]]) -> None:
        exit = await wait()
        # Perhaps only gdb knows how it ended. And each SIGTRAP goes to gdb first: where one ended the process without
        # a word of gdb, gdb had let go of it with a breakpoint left in it, and gdb's own end is what has happened.
        if exit in (Exit(), Exit(signal=signal.SIGTRAP)):
            await self._wait_for(self._gdb_told_an_end.wait(), GDB_GRACE)
        self.loop.put(exited, self._gdbs_word if exit == Exit() else exit)

    def _is_over(self, what: effect.Over) -> None:
        self.loop.ended.set()
        if self.state is State.EXITED:
            self.background(give_back(self.native, self._gdb_told_an_end))

    def _native_exited(self, event: engine.NativeExited) -> None:
        self._gdbs_word = Exit(code=event.code, signal=signal_number(event.signal))
        self._gdb_told_an_end.set()
        if self.wait_for_exit is None:
            self.loop.put(exited, self._gdbs_word)

    def _native_log(self, event: engine.NativeLog) -> None:
        for id in self.breakpoints.native_owners(event.gdb_breakpoint):
            self.breakpoints.count_hit(id)
            self.emit(Output("log", f"{event.text}\n"))

    def _python_output(self, event: engine.PythonOutput) -> None:
        if event.text.startswith(_SKIPPED):
            self.loop.put_of_program(library_passed_over)
        elif event.category == "important":
            self.emit(Notice("warning", event.text.rstrip("\n")))
        else:
            self.emit(Output(_STREAMS.get(event.category, "console"), event.text))

    def _engine_ended(self, event: engine.EngineEnded) -> None:
        if event.engine == "debugpy":
            self.loop.put_of_program(debugpy_lost, event.detail)
        else:
            self.loop.put(gdb_lost, event.detail, self.end_target is not None)
            self._gdb_told_an_end.set()

    def _report_at_end(self, what: effect.ReportUnbound) -> None:
        self.breakpoints.notices.log_failures()
        self.breakpoints.report_unbound()

    # -- effects --------------------------------------------------------------------------------------

    def _perform(self, what: effect.Effect) -> None:
        _EFFECTS[type(what)](self, what)

    def _before_run(self, what: effect.BeforeRun) -> None:
        for prepare in self.before_resume:
            prepare()

    def _after_stop(self, what: effect.AfterStop) -> None:
        for react in self.after_stop:
            react()

    def _look_later(self, what: effect.LookLater) -> None:
        asyncio.get_running_loop().call_later(what.seconds, self.loop.put, pause_look_due, what.epoch)

    async def _put_right(self, detail: str) -> None:
        if self.repair is not None:
            await self._attempt_repair()
        self.loop.put(repaired, detail)

    async def _attempt_repair(self) -> None:
        assert self.repair is not None
        await self.loop.guarded(in_thread(self.repair))

    # -- commands -----------------------------------------------------------------------------------

    async def resume(self) -> None:
        """Let the target run on."""
        async with self._command:
            self.require_stopped()
            await self.stepper.resume()

    async def step(
        self, kind: str, location: str | None = None, target: int | None = None, tid: int | None = None
    ) -> None:
        """A step of the thread ``tid``, by default that of the stop, in the language in which the thread stands.

        ``kind`` is next, step, finish, until or goto, which moves the point of execution; natively stepi and nexti
        too. ``location`` is where until runs to. ``target`` says what step enters, or where goto goes: in Python the
        number that debugpy gave (``stepInTargets``, ``gotoTargets``), natively the address of a function, or one
        within the function in which the thread stands.
        """
        async with self._command:
            stop = self.require_stopped()
            await self.stepper.step(kind, location, target, stop.thread.tid if tid is None else tid)

    async def pause(self) -> None:
        """Stop the target wherever it is: by debugpy where it runs Python, else by gdb."""
        await self.loop.ask(pause_wanted)

    def waits_in_vain(self) -> bool:
        """Whether nothing that the user has set will stop the running target.

        So it is where all breakpoints are in Python code, and Python control was refused.
        """
        state = self.loop.state
        waits = state.phase is State.RUNNING and state.step is None and state.pause == Pause()
        return waits and not self.hits.of_gdb and self.breakpoints.none_can_stop()

    async def interrupted(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run ``work`` while gdb holds the target: at once at a native stop, else within a short halt.

        Raises WrongState when the target stopped for another reason first. That stop is shown, and ``work`` was not
        run.
        """
        if self.native_held.is_set():
            return await work()
        async with self._command:
            if self.native_held.is_set():
                return await work()
            self.require(State.RUNNING, State.PYTHON_STOPPED)
            halt = await self.halts.begin()
            try:
                await self.freezer.release()
                return await work()
            finally:
                await to_its_end(self._end_halt(halt))

    async def _end_halt(self, halt: effect.Halt) -> None:
        """The work of a halt is done, and the target runs on."""
        try:
            await self.freezer.halt_over()
        finally:
            self.halts.end(halt)

    async def detach(self) -> None:
        """Let go of the target: it runs on, without breakpoints and without us."""
        async with self._command:
            self.require(State.RUNNING, State.PYTHON_STOPPED, State.NATIVE_STOPPED)
            python = self.python if self.has_python else None
            if python is not None and self.native_held.is_set():
                python.post(debugpy.disconnect())
            elif python is not None:
                with contextlib.suppress(WrongState):  # a native stop came first: debugpy hears it later
                    await self.inspector.ask(debugpy.disconnect())
            halt = None
            # It stands, or another stop came first, which serves as well.
            with contextlib.suppress(WrongState):
                halt = await self.halts.begin()
            try:
                await self.freezer.thaw_all()
                for undo in self.before_detach:
                    await undo()
                for prepare in self.before_resume:
                    prepare()
                await to_its_end(self._let_go())
            finally:
                if halt is not None:  # where it was not let go of, it runs on
                    self.halts.end(halt)

    async def _let_go(self) -> None:
        """The last part of a detach, which is not given up in the middle."""
        await self.loop.ask(letting_go, True)
        try:
            await self.native.detach()
        except DualdbgError:
            await self.loop.ask(letting_go, False)
            raise
        if self.python is not None and not await self.python.hang_up(HANG_UP_DEADLINE):
            self.emit(Notice("info", "what debugpy left in the target goes when it next runs Python"))
        if self.target is not None and not self.keeps_target:
            self.target.detach()  # it runs on after us
        await self.loop.ask(detached)

    async def kill(self, also_attached: bool = False) -> None:
        """End a launched target. One that was attached to is ended only where the user has asked for that."""
        if self.state in (State.EXITED, State.DETACHED):
            return
        if self.end_target is None:
            if not also_attached:
                raise CommandError(
                    "the target was attached to, not started by dualdbg", "type detach, or end it yourself"
                )
            self.end_target = self.end_attached  # from now on it ends with us, whatever comes between
        self.loop.put(kill_wanted)
        self.native.wake()  # the kernel tells gdb first that the process has ended
        clock = asyncio.get_running_loop().time
        end = clock() + END_DEADLINE
        while not self.ended.is_set() and clock() < end:
            if not self.native.running:  # at a stop that is shown, or whose meaning is being read
                # The kernel tells gdb first that the process has ended, and gdb must wait for that to notice it. To
                # let the target run may fail: at a breakpoint gdb makes a step first, and the thread for it is gone.
                with contextlib.suppress(DualdbgError):
                    await self.native.kill()
            await self._wait_for(self.ended.wait(), END_LOOK)

    @staticmethod
    async def _wait_for(end: Awaitable[object], deadline: float) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(end, deadline)

    async def close(self) -> None:
        """End the session and its engines. A target that was attached to runs on.

        A launched target ends with all that descends from it, unless it was detached.
        """
        ours = self.target is not None and self.state is not State.DETACHED
        grace = GDB_GRACE
        if ours:
            self.target.kill()  # also when it has ended: what it has started may live
        elif self.end_target is not None:
            if self.state not in (State.EXITED, State.DETACHED):
                self.end_target()
        elif self.state in (State.RUNNING, State.PYTHON_STOPPED, State.NATIVE_STOPPED):
            self.native.wake()
            await self._wait_for(self.loop.guarded(self.detach()), LEAVE_DEADLINE)
        elif self.state is not State.DETACHED:
            grace = LEAVE_DEADLINE  # gdb may be in the middle of a call in the target
        for end in self.at_end:
            await end()
        orderly = await self.native.close(grace)
        if not orderly and self.end_target is None and self.repair is not None:
            await self._attempt_repair()
        if self.python is not None:
            await self.python.close()
        if self.end_target is not None and self.loop.is_open:
            # That takes long only where the kernel is busy with a target that was killed.
            await self._wait_for(self.ended.wait(), END_DEADLINE)
        if ours:
            await self._wait_for(self.target.cleared(), CLEAR_DEADLINE)
        await self.end_tasks()

    async def end_tasks(self) -> None:
        """Take no more reports, because the engines are gone, and give back what the session holds."""
        await self.loop.end_tasks()
        for release in (*self.at_close, self.close_log):
            release()


# By debugpy's category: what log points write, and a program that was attached to, where its output is redirected.
_STREAMS = {"stdout": "log", "stderr": "stderr"}


_REPORTS: dict[type, Callable[[Session, Any], None]] = {
    engine.NativeStopped: lambda session, event: session.loop.put(native_stopped, event),
    engine.NativeExited: Session._native_exited,
    engine.NativeRefused: lambda session, event: session.native_runs.refused(event),
    engine.NativeWentOn: lambda session, event: session.native_runs.went_on(),
    engine.NativeConsole: lambda session, event: session.emit(Output("console", event.text)),
    engine.NativeLog: Session._native_log,
    engine.NativeOften: lambda session, event: session.background(
        session.breakpoints.often_false.report(event)
    ),
    engine.PythonStopped: lambda session, event: session.loop.put_of_program(python_stopped, event),
    engine.PythonContinued: lambda session, event: session.loop.put_of_program(python_continued, event),
    engine.PythonOutput: Session._python_output,
    engine.PythonFileLoaded: lambda session, event: session.breakpoints.python_changed(event),
    engine.PythonLogFailed: lambda session, event: session.breakpoints.notices.log_failed(event),
    engine.PythonBreakpoint: lambda session, event: session.breakpoints.python_changed(event),
    engine.PythonEnded: lambda session, event: None,  # how it ended is reported for the process itself
    engine.EngineEnded: Session._engine_ended,
}

_EFFECTS: dict[type, Callable[[Session, Any], None]] = {
    effect.Meet: lambda session, what: session.inspector.meet(what.facts.stop),
    effect.Forget: lambda session, what: session.inspector.forget(what.as_read_now),
    effect.BeforeRun: Session._before_run,
    effect.AfterStop: Session._after_stop,
    effect.ReadNative: lambda session, what: session.background(session.native_stops.read(what)),
    effect.PrepareNative: lambda session, what: session.background(session.native_stops.prepare(what)),
    effect.ReadPython: lambda session, what: session.background(session.python_stops.read(what)),
    effect.PreparePython: lambda session, what: session.background(session.python_stops.prepare(what)),
    effect.Resume: lambda session, what: session.native_runs.resume(what),
    effect.Interrupt: lambda session, what: session.native_runs.interrupt(what),
    effect.Release: lambda session, what: session.native_runs.release(),
    effect.Post: lambda session, what: session.debugpy_requests.post(what),
    effect.AnswerHalt: lambda session, what: session.halts.answer(what),
    effect.LookLater: Session._look_later,
    effect.MissDebugpy: lambda session, what: session.debugpy_requests.miss(what),
    effect.RenewDebugpy: lambda session, what: session.debugpy_requests.renew(what),
    effect.EndTarget: lambda session, what: (session.end_target or session.end_attached)(),
    effect.Repair: lambda session, what: session.background(session._put_right(what.detail)),
    effect.ReportUnbound: Session._report_at_end,
    effect.Over: Session._is_over,
}
