"""Every order of stops, commands, deaths and delays that hypothesis thinks of, on a session with fake engines.

What the session promises is looked at all the while: no stop is lost, none is told twice, nothing is asked of a mute
engine, nothing is read while the program runs, one stop follows each resume, and every command ends. Time is virtual:
a second of the session's costs nothing. When a program is over, the next one begins.

Of forks a session hears this: the program stops where the user has gdb catch them (``gdb catch fork``); the end of a
process that was forked off and is followed is told twice, by gdb and by who watches it; and such a process may be
given up while it joins. gdb lets go of a child by itself, and pydevd is told to look at none. How a process joins is in
tests/follow.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dualdbg.backends.events import NativeStopped, PythonCause, StopCause
from dualdbg.backends.python import evaluate
from dualdbg.errors import DualdbgError, EngineTimeout
from dualdbg.model import Detached, Exit, Exited, Language, Notice, Reason, Resumed, State, Stopped, Thread
from dualdbg.session.session import Session
from dualdbg.session.state import OVER, Grip
from dualdbg.session.stepping.departure import NativeDeparture, PythonDeparture
from dualdbg.session.stepping.ground import GroundReader
from dualdbg.session.stepping.momentary_breakpoints import MomentaryBreakpoints
from dualdbg.session.stepping.step_ends import ArrivalReader, StepEnds
from dualdbg.session.stepping.stepper import Stepper
from dualdbg.session.stops.facts import NativeHold, Picture
from dualdbg.session.stops.native_stops import NativeStops
from dualdbg.session.stops.python_stops import PythonStops
from dualdbg.session.stops.scene import Scene
from dualdbg.session.transitions.beginning import (
    attach_ready,
    attached,
    begin,
    expect_entry,
    keep_held,
    run_for_a_moment,
    tell_attached,
)
from dualdbg.session.transitions.ending import detached, target_died
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
STEPS = ("next", "step", "finish", "until", "stepi", "nexti", "goto")
GIVEN_UP = ("interrupted", "continue", *STEPS, "detach")
ENDS = ("exits", "is killed", "gdb dies", "debugpy dies", "detach", "kill")
LATE_COMMANDS = 3  # that are given to a session which is over
LIVES = 250
STEPS_OF_A_LIFE = 60
# Transitions that all runs together take dozens of times. Others need luck besides, such as a refusal of an engine.
REACHED = {
    *("begin", "expect_entry", "attached", "run_for_a_moment", "keep_held", "attach_ready", "tell_attached"),
    *("native_stopped", "native_fact_read", "native_ready", "leave_natively", "departed"),
    *("python_stopped", "python_place_read", "python_hits_read", "python_ready", "leave_in_python"),
    *("halt_wanted", "halt_done", "pause_wanted", "take_interrupts", "exited", "detached"),
}


class Races(RuleBasedStateMachine):
    """One session and its world after the other."""

    steps = 0  # of all runs
    taken: Counter[str] = Counter()  # how often each transition was taken, in all runs

    @initialize(
        seed=st.integers(0, 2**32), life=st.sampled_from(["launched", "first line", "attached", "forked"])
    )
    def begin(self, seed: int, life: str) -> None:
        self.loop = VirtualLoop()
        self.loop.set_exception_handler(self._fell_through)
        self.world = World(random.Random(seed))
        self.commands: list[tuple[str, asyncio.Task[Any], float]] = []
        self.stopped = False  # as a front end has heard
        self.last: Language | None = None
        self.epoch = 0
        self.told_over = False
        self.late = 0
        self.told: set[str] = set()
        self.wrong: list[str] = []
        self.in_loop(self._make)
        self.in_loop(lambda: self._start(life))

    def in_loop(self, work: Callable[[], Awaitable[None]]) -> None:
        type(self).steps += 1
        self.loop.run_until_complete(work())

    async def _make(self) -> None:
        world = self.world
        gdb = self.gdb = FakeGdb(world)
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
            NativeDeparture(loop, gdb, session.freezer, momentary, watch, probe),
            PythonDeparture(loop, momentary, watch),
            table,
        )
        reader = ArrivalReader(gdb, session.inspector, watch, code, table, session)  # type: ignore[arg-type]
        steps = StepEnds(loop, reader, momentary, watch, probe)
        scene = Scene(gdb, session.python, session.inspector, session.freezer)  # type: ignore[arg-type]
        session.native_stops = NativeStops(loop, scene, table, session.hits, steps)
        python_hits: Any = FakePythonHits(world)
        session.python_stops = PythonStops(loop, table, session.inspector, python_hits, steps)
        session.wait_for_exit = None
        world.report = session.report
        loop.tell = self._heard  # type: ignore[method-assign]
        loop.log = self._logged

    async def _start(self, life: str) -> None:
        session = self.session
        if life == "attached":
            with contextlib.suppress(DualdbgError):  # gdb may refuse, and the program is let go of
                await self._attach()
                return
            await session.close()
            return
        session.end_target = self._killed
        if life == "forked":
            self.world.watched = True
            if self.world.chance.random() < 1 / 8:
                await self._give_up()
                return
        session.run()
        session.background(self._watch_death())
        if life == "first line":
            await session.loop.ask(expect_entry)
        await session.loop.ask(begin)

    async def _give_up(self) -> None:
        """As ``inferiors.py`` does with a process that could not join: it runs on."""
        self.world.detached = True
        self.session.loop.open()
        self.session.loop.put(detached)
        await asyncio.sleep(0)

    async def _attach(self) -> None:
        """As ``attaching.py`` does it, with a moment in which the program runs."""
        session, loop = self.session, self.session.loop
        stop = self.world.held = NativeStopped(StopCause.UNSAID, PID, MAIN)
        self.world.thawed.clear()
        session.run()
        session.background(self._watch_death())
        await loop.ask(attached, NativeHold(stop, PID, MAIN))
        if self.world.chance.random() < 0.5:
            await loop.ask(run_for_a_moment)
            await asyncio.sleep(0.01)
            await loop.ask(keep_held, await session.halts.begin())
        await loop.ask(attach_ready, Picture(Thread(PID, "python"), None), Reason.PAUSE, "attached")
        await loop.ask(tell_attached)

    async def _watch_death(self) -> None:
        """As ``death_watch.py``, which looks into /proc."""
        loop = self.session.loop
        while not loop.ended.is_set():
            await loop.native_held.wait()
            if self.world.killed:
                loop.put(target_died)
                return
            await asyncio.sleep(0.25)

    def _fell_through(self, loop: object, context: dict[str, Any]) -> None:
        """asyncio would write a traceback to the user's terminal."""
        if "exception" in context:
            self.wrong.append(f"{context['message']}: {context['exception']!r}")

    def _logged(self, line: str) -> None:
        name = line.partition("(")[0]
        if name.isidentifier():
            type(self).taken[name] += 1
        if name == "pause_wanted":
            self.world.pause_owed = True
        elif name == "native_refused":  # the program stands where it stood before: that is the stop
            self.world.pause_owed = self.world.ctrl_c_owed = False

    def _lives(self) -> bool:
        return not self.told_over and self.session.state not in OVER

    def _may_command(self) -> bool:
        return self._lives() or self.late < LATE_COMMANDS

    def _may_go_on(self) -> bool:
        """A front end waits for the answer to an expression before it lets the program go on."""
        return self.stopped and not any(name == "call" for name, _, _ in self.commands)

    @precondition(lambda self: not self._lives())
    @rule(seed=st.integers(0, 2**32), life=st.sampled_from(["launched", "attached", "forked"]))
    def another_program(self, seed: int, life: str) -> None:
        self.teardown()
        self.begin(seed, life)

    def _killed(self) -> None:
        if self.world.alive:
            self.world.exit()

    # -- the program --------------------------------------------------------------------------------

    def _runs(self) -> bool:
        return self.world.runs

    def _python_runs(self) -> bool:
        return self.world.runs and self.world.debugpy_alive and not self.world.python

    @precondition(_runs)
    @rule(cause=st.sampled_from([StopCause.BREAKPOINT, StopCause.BREAKPOINT, StopCause.WATCHPOINT]))
    def arrives_at_the_users_breakpoint(self, cause: StopCause) -> None:
        self._at(lambda: self.world.hit(USERS, cause))

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
    @rule(cause=st.sampled_from([StopCause.LIBRARIES, StopCause.EXEC]))
    def changes(self, cause: StopCause) -> None:
        self._at(lambda: self.world.change(cause))

    @precondition(_runs)
    @rule()
    def forks(self) -> None:
        self._at(self.world.fork)

    @precondition(_runs)
    @rule()
    def gets_a_signal(self) -> None:
        self._at(self.world.get_signal)

    @precondition(lambda self: self._lives() and self.world.alive and not self.world.detached)
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

    @precondition(_lives)
    @rule(end=st.sampled_from(ENDS))
    def something_ends(self, end: str) -> None:
        """One time in six, so that a life is long."""
        if self.world.chance.random() < 1 / 6:
            self._ends(end)

    def _ends(self, end: str) -> None:
        world = self.world
        if end in ("detach", "kill"):
            self._command(end, getattr(self.session, end))
        elif world.alive and end == "exits" and world.held is None:
            self._at(world.exit)
        elif world.alive and end == "is killed":
            self._at(world.be_killed)
        elif world.gdb_alive and end == "gdb dies":
            self._at(world.gdb_dies)
        elif world.debugpy_alive and end == "debugpy dies":
            self._at(world.debugpy_dies)

    # -- the user -----------------------------------------------------------------------------------

    @precondition(_may_go_on)
    @rule()
    def resume(self) -> None:
        self._command("continue", self.session.resume)

    @precondition(_may_go_on)
    @rule(kind=st.sampled_from(STEPS), chosen=st.sampled_from([None, None, 3]))
    def step(self, kind: str, chosen: int | None) -> None:
        self._command(kind, lambda: self.session.step(kind, target=chosen))

    @precondition(_may_command)
    @rule()
    def pause(self) -> None:
        self._command("pause", self.session.pause)

    @precondition(_may_command)
    @rule(seconds=st.sampled_from([0.0, 0.002, 0.05]))
    def look_at_everything(self, seconds: float) -> None:
        """Work of ours in a halt. Where it runs code of the program, that may meet a stop that is for nobody."""

        async def work() -> None:
            world = self.world
            halted = self.session.loop.state.grip is Grip.HALTED
            if halted and world.chance.random() < 0.3:
                await self.gdb.call(INTERNAL)
            await asyncio.sleep(seconds)
            if halted and world.runs:
                world.broken.append("the program ran during work of ours")

        self._command("interrupted", lambda: self.session.interrupted(work))

    @precondition(lambda self: self.stopped and not self.commands)
    @rule(number=st.sampled_from([None, INTERNAL, USERS]))
    def call_a_function(self, number: int | None) -> None:
        """The user has gdb call a function of the program (``gdb call f()``), which may meet a breakpoint."""

        async def call() -> None:
            self.session.require(State.NATIVE_STOPPED)
            await self.gdb.call(number)

        self._command("call", lambda: self.session.interrupted(call))

    @precondition(lambda self: self.stopped)
    @rule()
    def evaluate(self) -> None:
        self._command("evaluate", lambda: self.session.inspector.ask(evaluate("1", 1)))

    @precondition(lambda self: any(name in GIVEN_UP for name, _, _ in self.commands))
    @rule()
    def give_up_a_command(self) -> None:
        task = next(task for name, task, _ in self.commands if name in GIVEN_UP)
        self._at(task.cancel)

    @precondition(_lives)
    @rule(ours=st.booleans())
    def take_ctrl_c(self, ours: bool) -> None:
        self.world.takes_interrupts = self.world.ctrl_c_owed = False
        self._at(lambda: setattr(self.session, "interrupt_pauses", ours))

    @rule(seconds=st.sampled_from([0.0, 0.001, 0.01, 0.1, 2.0]))
    def time_passes(self, seconds: float) -> None:
        self.in_loop(lambda: self._watch(seconds))

    # -- how it is done ------------------------------------------------------------------------------

    def _at(self, act: Callable[[], object]) -> None:
        async def now() -> None:
            act()
            await self._watch(self.world.chance.choice((0.0, 0.0, 0.001, 0.1)))

        self.in_loop(now)

    def _command(self, name: str, start: Callable[[], Awaitable[Any]]) -> None:
        self.late += not self._lives()

        async def now() -> None:
            task = asyncio.ensure_future(start())
            self.commands.append((name, task, self.loop.time()))
            await self._watch(self.world.chance.choice((0.0, 0.0, 0.001, 0.01, 0.1)))

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
            elif not task.cancelled() and (error := task.exception()) is not None:
                assert isinstance(error, DualdbgError), error
                assert not isinstance(error, EngineTimeout), f"{name} was not answered: {error}"
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
            in_call = stop.description in self.world.met_in_calls
            assert not self.stopped or overtaken or in_call, f"a second stop without a resume: {stop}"
            if stop.origin is Language.PYTHON:
                assert self.session.loop.state.grip is Grip.FREE, (
                    "a Python stop is told, and gdb holds the program"
                )
            assert stop.epoch > self.epoch, f"the epoch stays at {self.epoch}"
            self.stopped, self.last, self.epoch = True, stop.origin, stop.epoch
            self.world.pause_owed = self.world.ctrl_c_owed = False
            self._told(stop.description)
        elif isinstance(event, Resumed):
            assert self.stopped, "resumed twice"
            self.stopped, self.last = False, None
        elif isinstance(event, Exited | Detached):
            self.stopped, self.told_over = False, True
        elif isinstance(event, Notice):
            assert "internal error" not in event.message, event
            if event.level == "error":  # gdb has refused to interrupt
                self.world.pause_owed = self.world.ctrl_c_owed = False

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
            assert not (world.pause_owed or world.ctrl_c_owed), "the user wanted a stop, and there was none"
        await session.close()
        assert world.alive is False or world.detached or session.state in OVER
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        assert not self.wrong, self.wrong


def test_races() -> None:
    run_state_machine_as_test(
        Races,
        settings=settings(
            max_examples=LIVES,
            stateful_step_count=STEPS_OF_A_LIFE,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            phases=[Phase.generate],
        ),
    )
    assert Races.steps > 10_000
    assert set(Races.taken) >= REACHED, f"never taken: {REACHED - set(Races.taken)}"


def test_exit_status_is_told_once() -> None:
    """The plainest life: run, end."""
    machine = Races()
    machine.begin(1, "launched")
    machine._at(machine.world.exit)
    machine._at(lambda: None)
    assert machine.session.exit == Exit(0)
    machine.teardown()
