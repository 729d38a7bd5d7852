"""Every order of stops, commands, deaths and delays that hypothesis thinks of, on a session with fake engines.

What the session promises is looked at all the while: no stop is lost, none is told twice, nothing is asked of a mute
engine, nothing is read while the program runs, one stop follows each resume, and every command ends. Time is virtual:
a second of the session's costs nothing.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from dualdbg.backends.events import PythonCause
from dualdbg.errors import DualdbgError
from dualdbg.model import Detached, Exit, Exited, Language, Notice, Resumed, State, Stopped
from dualdbg.session.session import Session
from dualdbg.session.state import OVER
from dualdbg.session.stepping.departure import NativeDeparture, PythonDeparture
from dualdbg.session.stepping.ground import GroundReader
from dualdbg.session.stepping.momentary_breakpoints import MomentaryBreakpoints
from dualdbg.session.stepping.step_ends import ArrivalReader, StepEnds
from dualdbg.session.stepping.stepper import Stepper
from dualdbg.session.stops.native_stops import NativeStops
from dualdbg.session.stops.python_stops import PythonStops
from dualdbg.session.stops.scene import Scene
from dualdbg.session.transitions.beginning import begin
from tests.session.fakes.clock import VirtualLoop
from tests.session.fakes.engines import FakeDebugpy, FakeGdb
from tests.session.fakes.readers import (
    FakeBreakpoints,
    FakeCode,
    FakeFreezer,
    FakeHandlers,
    FakeHits,
    FakeInspector,
    FakeProbe,
    FakePythonHits,
    FakeWatch,
)
from tests.session.fakes.world import INTERNAL, MAIN, PID, USERS, World

LONG = 60.0  # seconds of virtual time after which a command should have ended
SELDOM = st.integers(0, 19)  # 0: it happens
STEPS = ("next", "step", "finish", "until", "stepi")


class Races(RuleBasedStateMachine):
    """One session and its world."""

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        self.loop = VirtualLoop()
        self.world = World(random.Random(seed))
        self.commands: list[tuple[str, asyncio.Task[Any], float]] = []
        self.stopped = False  # as a front end has heard
        self.told_over = False
        self.told: set[str] = set()
        self.wrong: list[str] = []
        self.in_loop(self._make)

    def in_loop(self, work: Callable[[], Awaitable[None]]) -> None:
        self.loop.run_until_complete(work())

    async def _make(self) -> None:
        world = self.world
        gdb = FakeGdb(world)
        session = self.session = Session(PID, gdb, None, 0.0)  # type: ignore[arg-type]
        session.python = FakeDebugpy(world, lambda: session.loop.state.is_mute)  # type: ignore[assignment]
        session.inspector = FakeInspector(session, world)  # type: ignore[assignment]
        session.breakpoints = FakeBreakpoints(world)  # type: ignore[assignment]
        session.hits = FakeHits(world)  # type: ignore[assignment]
        session.freezer = FakeFreezer(world)  # type: ignore[assignment]
        code: Any = FakeCode()
        probe: Any = FakeProbe(world)
        watch: Any = FakeWatch(world)
        handlers: Any = FakeHandlers()
        momentary = MomentaryBreakpoints(gdb, session, session.inspector.reader, code, handlers)  # type: ignore[arg-type]
        loop, table = session.loop, session.breakpoints
        session.stepper = Stepper(
            loop,
            GroundReader(gdb, session.inspector, watch, code, table, handlers),  # type: ignore[arg-type]
            NativeDeparture(loop, gdb, session.freezer, momentary, probe),
            PythonDeparture(loop, momentary, watch),
            table,
        )
        reader = ArrivalReader(gdb, session.inspector, watch, code, table, session)  # type: ignore[arg-type]
        steps = StepEnds(loop, reader, momentary, watch, probe)
        scene = Scene(gdb, session.python, session.inspector, session.freezer)  # type: ignore[arg-type]
        session.native_stops = NativeStops(loop, scene, table, session.hits, steps)
        python_hits: Any = FakePythonHits(world)
        session.python_stops = PythonStops(loop, table, session.inspector, python_hits, steps)
        session.end_target = self._killed
        session.wait_for_exit = None
        world.report = session.report
        session.loop.tell = self._heard  # type: ignore[method-assign]
        session.run()
        await session.loop.ask(begin)

    def _killed(self) -> None:
        if self.world.alive:
            self.world.exit()

    # -- the program --------------------------------------------------------------------------------

    def _runs(self) -> bool:
        return self.world.runs

    def _python_runs(self) -> bool:
        return self.world.runs and self.world.debugpy_alive and not self.world.python

    @precondition(_runs)
    @rule()
    def arrives_at_the_users_breakpoint(self) -> None:
        self._at(lambda: self.world.hit(USERS))

    @precondition(_runs)
    @rule()
    def arrives_at_another_breakpoint(self) -> None:
        self._at(lambda: self.world.hit(INTERNAL))

    @precondition(lambda self: self.world.runs and bool(self.world.step_breakpoints))
    @rule()
    def arrives_where_a_step_waits(self) -> None:
        self._at(lambda: self.world.hit(self.world.chance.choice(sorted(self.world.step_breakpoints))))

    @precondition(lambda self: self.world.runs and self.world.stepping is not None)
    @rule()
    def native_step_ends(self) -> None:
        self._at(self.world.end_native_step)

    @precondition(_runs)
    @rule()
    def loads_a_library(self) -> None:
        self._at(self.world.load_library)

    @precondition(lambda self: self.world.alive and not self.world.detached)
    @rule(sender=st.sampled_from(["other", "terminal"]))
    def gets_a_sigint(self, sender: str) -> None:
        self._at(lambda: self.world.interrupt(sender))

    @precondition(_python_runs)
    @rule(number=st.sampled_from([MAIN, 2]))
    def python_breakpoint(self, number: int) -> None:
        self._at(lambda: self.world.stop_in_python(number, PythonCause.BREAKPOINT, counts=True))

    @precondition(_python_runs)
    @rule()
    def python_exception_that_nobody_asked_for(self) -> None:
        self._at(lambda: self.world.stop_in_python(MAIN, PythonCause.EXCEPTION, counts=False))

    @precondition(lambda self: self._python_runs() and self.world.python_step is not None)
    @rule()
    def python_step_ends(self) -> None:
        self._at(lambda: self.world.stop_in_python(MAIN, PythonCause.STEPPED, counts=False))

    @precondition(lambda self: self._python_runs() and self.session.python.pausing)  # type: ignore[union-attr]
    @rule()
    def python_pauses(self) -> None:
        self.session.python.pausing = False  # type: ignore[union-attr]
        self._at(lambda: self.world.stop_in_python(MAIN, PythonCause.PAUSED, counts=False))

    @precondition(lambda self: self.world.alive)
    @rule(luck=SELDOM)
    def exits(self, luck: int) -> None:
        if not luck:
            self._at(self.world.exit)

    @precondition(lambda self: self.world.gdb_alive and self.world.alive)
    @rule(luck=SELDOM)
    def gdb_dies(self, luck: int) -> None:
        if not luck:
            self._at(self.world.gdb_dies)

    @precondition(lambda self: self.world.debugpy_alive and self.world.alive)
    @rule(luck=SELDOM)
    def debugpy_dies(self, luck: int) -> None:
        if not luck:
            self._at(self.world.debugpy_dies)

    # -- the user -----------------------------------------------------------------------------------

    @precondition(lambda self: self.stopped)
    @rule()
    def resume(self) -> None:
        self._command("continue", self.session.resume)

    @precondition(lambda self: self.stopped)
    @rule(kind=st.sampled_from(STEPS))
    def step(self, kind: str) -> None:
        self._command(kind, lambda: self.session.step(kind))

    @rule()
    def pause(self) -> None:
        self._command("pause", self.session.pause)

    @rule(seconds=st.sampled_from([0.0, 0.002, 0.05]))
    def look_at_everything(self, seconds: float) -> None:
        self._command("interrupted", lambda: self.session.interrupted(lambda: asyncio.sleep(seconds)))

    @precondition(lambda self: bool(self.commands))
    @rule()
    def give_up_a_command(self) -> None:
        for name, task, _ in self.commands:
            if name == "interrupted":
                self._at(task.cancel)
                return

    @rule(luck=SELDOM)
    def detach(self, luck: int) -> None:
        if not luck:
            self._command("detach", self.session.detach)

    @rule(luck=SELDOM)
    def kill(self, luck: int) -> None:
        if not luck:
            self._command("kill", self.session.kill)

    @rule(seconds=st.sampled_from([0.0, 0.001, 0.01, 0.1, 2.0]))
    def time_passes(self, seconds: float) -> None:
        self.in_loop(lambda: self._watch(seconds))

    # -- how it is done ------------------------------------------------------------------------------

    def _at(self, act: Callable[[], object]) -> None:
        async def now() -> None:
            act()
            await self._watch(self.world.chance.choice((0.0, 0.0, 0.001)))

        self.in_loop(now)

    def _command(self, name: str, start: Callable[[], Awaitable[Any]]) -> None:
        async def now() -> None:
            task = asyncio.ensure_future(start())
            self.commands.append((name, task, self.loop.time()))
            await self._watch(self.world.chance.choice((0.0, 0.0, 0.001, 0.01)))

        self.in_loop(now)

    async def _watch(self, seconds: float) -> None:
        """Let time pass, and look at what was told, and at what became of the commands."""
        end = self.loop.time() + seconds
        while True:
            left = max(end - self.loop.time(), 0.0)
            await asyncio.sleep(min(0.005, left) if left < 1.0 else 0.5)
            self._look()
            if self.loop.time() >= end:
                return

    def _look(self) -> None:
        assert not self.wrong, self.wrong
        assert not self.world.broken, self.world.broken
        self.session.loop.state.check()
        waiting = []
        for name, task, started in self.commands:
            if not task.done():
                assert self.loop.time() - started < LONG, f"{name} has not ended"
                waiting.append((name, task, started))
            elif not task.cancelled() and task.exception() is not None:
                assert isinstance(task.exception(), DualdbgError), task.exception()
        self.commands = waiting

    def _heard(self, event: object) -> None:
        """As a front end that listens all the while. What is wrong is kept, for the loop would catch it."""
        try:
            self._check(event)
        except AssertionError as error:
            self.wrong.append(str(error))

    def _check(self, event: object) -> None:
        assert not self.told_over or isinstance(event, Notice), f"{event} after the end"
        if isinstance(event, Stopped):
            stop = event.stop
            overtaken = stop.origin is Language.NATIVE and self.last is Language.PYTHON
            assert not self.stopped or overtaken, f"a second stop without a resume: {stop}"
            self.stopped, self.last = True, stop.origin
            self._told(stop.description)
        elif isinstance(event, Resumed):
            assert self.stopped, "resumed twice"
            self.stopped, self.last = False, None
        elif isinstance(event, Exited | Detached):
            self.stopped, self.told_over = False, True
        elif isinstance(event, Notice):
            assert "internal error" not in event.message, event

    last: Language | None = None

    def _told(self, mark: str | None) -> None:
        if mark in self.world.stops_of_user:
            assert mark not in self.told, f"{mark} was told twice"
            self.told.add(mark or "")
        if mark == self.world.mark:
            self.world.mark_told = True
        for held in self.world.python.values():
            if held.mark and held.mark == mark:
                held.told = True

    def teardown(self) -> None:
        if not hasattr(self, "session"):
            return
        try:
            self.in_loop(self._end)
        finally:
            self.loop.close()

    async def _end(self) -> None:
        """What has happened is told in the end, whatever was under way; and closing leaves nothing behind."""
        world, session = self.world, self.session
        await self._watch(LONG)
        if session.state not in OVER and world.alive and world.gdb_alive:
            if world.held is not None:
                assert session.state is State.NATIVE_STOPPED, (
                    f"gdb holds the program, and it is {session.state}"
                )
            elif any(held.counts for held in world.python.values()) and world.debugpy_alive:
                assert session.state is State.PYTHON_STOPPED, (
                    f"debugpy holds a thread, and it is {session.state}"
                )
        if session.state is State.RUNNING and world.alive and not world.detached:
            kept = session.loop.state.signal_owed or world.pending_interrupt == "other"
            assert kept or not world.owes_interrupt, "a SIGINT of the program's own was lost"
        await session.close()
        assert world.alive is False or world.detached or session.state in OVER
        for _, task, _ in self.commands:
            task.cancel()
        await asyncio.gather(*(task for _, task, _ in self.commands), return_exceptions=True)


Races.TestCase.settings = settings(
    max_examples=200,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    phases=[Phase.generate],
)
test_races = Races.TestCase


def test_exit_status_is_told_once() -> None:
    """The plainest life: run, end."""
    machine = Races()
    machine.begin(1)
    machine._at(machine.world.exit)
    machine._at(lambda: None)
    assert machine.session.exit == Exit(0)
    machine.teardown()
