"""The state machine of the races: commands, stops, refusals, deaths and delays of the fake engines, in any order."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from dualdbg.backends.events import NativeStopped, PythonCause, StopCause
from dualdbg.backends.python import evaluate
from dualdbg.errors import AnswerOwed, DualdbgError, EngineTimeout
from dualdbg.model import Language, Reason, State, Thread
from dualdbg.session.state import OVER, Grip
from dualdbg.session.stops.facts import NativeHold, Picture
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
from dualdbg.system.waiting import to_its_end
from tests.session.fakes.assembly import assemble
from tests.session.fakes.clock import VirtualLoop
from tests.session.fakes.front_end import FrontEnd
from tests.session.fakes.readers import FOR_A_FRONT_END
from tests.session.fakes.world import INTERNAL, MAIN, PID, TIDS, NoAnswer, World
from tests.session.race_choices import (
    ANSWERED,
    CHOICES,
    KEPT,
    LATE_COMMANDS,
    LIVES_BEGIN,
    LONG,
    LOOKS,
    MOST_BREAKPOINTS,
    OFTEN,
    PYTHON_LINE,
    SIGINTS,
    STEPS_OF_A_LIFE,
)


def any_of(parameter: str) -> st.SearchStrategy[Any]:
    return st.sampled_from(CHOICES[parameter])


class Races(RuleBasedStateMachine):
    """One session and its world after the other."""

    steps = 0  # of all runs
    taken: Counter[str] = Counter()  # how often each transition was taken, in all runs

    @initialize(seed=any_of("seed"), life=any_of("life"))
    def begin(self, seed: int, life: str) -> None:
        self.loop = VirtualLoop()
        self.loop.set_exception_handler(self._fell_through)
        self.world = World(random.Random(seed))
        self.commands: list[tuple[str, asyncio.Task[Any], float]] = []
        self.too_late: set[asyncio.Task[Any]] = set()  # commands that were given after the end
        self.late = 0
        self.in_loop(self._make)
        self.in_loop(lambda: self._start(life))

    def in_loop(self, work: Callable[[], Awaitable[None]]) -> None:
        type(self).steps += 1
        self.loop.run_until_complete(work())

    async def _make(self) -> None:
        session = self.session = assemble(self.world)
        self.gdb: Any = session.native
        self.python: Any = session.python
        front = self.front = FrontEnd(self.world, session)
        session.loop.tell = front.hear  # type: ignore[method-assign]
        session.loop.log = self._logged
        for text in ("*0x100", PYTHON_LINE):
            await session.breakpoints.add(text)
        await session.breakpoints.python_connected()

    async def _start(self, life: str) -> None:
        session = self.session
        if life == "attached":
            with contextlib.suppress(DualdbgError):
                await self._attach()
                return
            await session.close()
            self.front.over, self.late = True, LATE_COMMANDS  # gdb refused: no front end gets this session
            return
        session.end_target = self.world.be_killed
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
        hold = NativeHold(stop, PID, MAIN)
        await loop.ask(attached, hold)
        if self.world.chance.random() < 0.5:
            await loop.ask(run_for_a_moment)
            await asyncio.sleep(0.01)
            await loop.ask(keep_held, await session.halts.begin(), hold)
        await loop.ask(attach_ready, Picture(Thread(PID, "python"), None), Reason.PAUSE, "attached")
        await loop.ask(tell_attached, loop.state.epoch)

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
            self.front.wrong.append(f"{context['message']}: {context['exception']!r}")

    def _logged(self, line: str) -> None:
        name = line.partition("(")[0]
        if name.isidentifier():
            type(self).taken[name] += 1
        if name == "pause_wanted":
            self.world.pause_owed = True
        elif name == "native_refused":  # the program stands where it stood before: that is the stop
            self.world.pause_owed = self.world.ctrl_c_owed = False

    def _lives(self) -> bool:
        return not self.front.over and self.session.state not in OVER

    def _may_command(self) -> bool:
        return self._lives() or self.late < LATE_COMMANDS

    def _may_go_on(self) -> bool:
        """A front end waits for the answer to a question before it lets the program go on."""
        return self.front.stopped and not any(name in ANSWERED for name, _, _ in self.commands)

    @precondition(lambda self: not self._lives())
    @rule(seed=any_of("seed"), life=any_of("life"))
    def another_program(self, seed: int, life: str) -> None:
        self.teardown()
        self.begin(seed, life)

    # -- the program --------------------------------------------------------------------------------

    @precondition(lambda self: self.world.alive and not self.world.detached)
    @rule(event=any_of("event"))
    def happens(self, event: str) -> None:
        """Something of which gdb hears. Two times in three it does not overtake a Python stop, which is left then."""
        spared = self.front.last is Language.PYTHON and self.world.chance.random() < 2 / 3
        if event in SIGINTS:
            self._at(partial(self.world.interrupt, SIGINTS[event]))
        elif self.world.runs and not spared and (act := self._event(event)) is not None:
            self._at(act)

    def _event(self, event: str) -> Callable[[], object] | None:
        world = self.world
        met = {
            "the user's breakpoint": [number for number, point in world.points.items() if point.enabled],
            "breakpoint of a step": sorted(world.step_breakpoints),
            "another breakpoint": [INTERNAL],
        }
        if event in met:
            return partial(world.hit, world.chance.choice(met[event])) if met[event] else None
        if event == "end of gdb's step":
            return world.end_native_step if world.stepping is not None else None
        plain = {"fork": world.fork, "signal": world.get_signal}
        causes = {"libraries": StopCause.LIBRARIES, "exec": StopCause.EXEC}
        return plain[event] if event in plain else partial(world.change, causes[event])

    def _python_runs(self) -> bool:
        return self.world.runs and self.world.debugpy_alive and not self.world.python

    @precondition(_python_runs)
    @rule(exception=any_of("exception"))
    def stops_in_python(self, exception: bool) -> None:
        """Where debugpy was asked to; else at a breakpoint, or for an exception that nobody has asked for."""
        world = self.world
        if self.python.pausing:
            self.python.pausing = False
            self._at(partial(world.stop_in_python, PythonCause.PAUSED))
        elif world.python_step is not None and not exception:
            self._at(self._end_python_step)
        else:
            cause = PythonCause.EXCEPTION if exception else PythonCause.BREAKPOINT
            self._at(partial(world.stop_in_python, cause))

    def _end_python_step(self) -> None:
        if self.world.chance.random() < 0.3:
            self.python.pass_over_library()
        self.world.stop_in_python(PythonCause.STEPPED)

    @precondition(_lives)
    @rule(end=any_of("end"))
    def something_ends(self, end: str) -> None:
        """One time in six, so that a life is long."""
        if self.world.chance.random() < 1 / 6:
            self._ends(end)

    def _ends(self, end: str) -> None:
        world = self.world
        if end == "detach":
            self._command(end, self.session.detach)
        elif end == "kill":
            also_attached = world.chance.random() < 0.5
            self._command(end, lambda: self.session.kill(also_attached))
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
    @rule(kind=any_of("kind"), chosen=any_of("chosen"))
    def goes_on(self, kind: str, chosen: int | None) -> None:
        session = self.session
        if kind == "continue":
            self._command(kind, session.resume)
        elif kind == "until" and chosen is not None:
            place = self.world.chance.choice(("*0x140", PYTHON_LINE, "nowhere.py:3"))
            self._command(kind, lambda: session.step(kind, place))
        else:
            self._command(kind, lambda: session.step(kind, target=chosen))

    @precondition(_may_command)
    @rule(ours=any_of("ours"))
    def pause(self, ours: bool | None) -> None:
        """The user wants a stop, or takes Ctrl-C for the program or for us: it counts while that does not change."""
        if ours is None or not self._lives():
            self._command("pause", self.session.pause)
            return
        self.world.takes_interrupts = self.world.ctrl_c_owed = False
        self._at(lambda: setattr(self.session, "interrupt_pauses", ours))

    @precondition(_lives)
    @rule(place=any_of("place"), how=any_of("how"))
    def breakpoints(self, place: str, how: str) -> None:
        table = self.session.breakpoints
        rows = table.all()
        if how.startswith("set"):
            if len(rows) < MOST_BREAKPOINTS:
                self._command("break", lambda: table.add(place, temporary=how == "set once"))
        elif rows:
            id = self.world.chance.choice(rows).id
            if how == "enable":
                self._command(how, lambda: table.enable(id, True))
            else:
                self._taking_away(
                    how, lambda: table.remove(id) if how == "delete" else table.enable(id, False)
                )

    def _taking_away(self, name: str, start: Callable[[], Awaitable[Any]]) -> None:
        """A command after which a breakpoint does not count. What stops meanwhile may be for nobody."""

        async def change() -> None:
            self.world.changed()
            try:
                await start()
            finally:
                self.world.changed()

        self._command(name, change)

    @precondition(lambda self: self.front.stopped and not self.commands)
    @rule(number=any_of("number"), frozen=any_of("frozen"))
    def freezes(self, number: int, frozen: bool) -> None:
        freezer, tid = self.session.freezer, TIDS[number]
        self._command("freeze", lambda: freezer.freeze([tid]) if frozen else freezer.thaw([tid]))

    @precondition(_may_command)
    @rule(halted=any_of("halted"))
    def look_at_everything(self, halted: float) -> None:
        """Work of ours in a halt. Where it runs code of the program, that may meet a stop that is for nobody."""

        async def work() -> None:
            world = self.world
            stands = self.session.loop.state.grip is Grip.HALTED
            if stands and world.chance.random() < 0.3:
                await to_its_end(self.gdb.call(INTERNAL))  # what runs code of the program waits for its end
            await asyncio.sleep(halted)
            if stands and world.runs:
                world.broken.append("the program ran during work of ours")

        self._command("interrupted", lambda: self.session.interrupted(work))

    @precondition(_may_command)
    @rule(halted=any_of("halted"))
    def halts_beside_the_commands(self, halted: float) -> None:
        """As Python control does it, which is no command of the user: such a halt may wait while another is there."""
        self._command("halt", lambda: self._halt(halted))

    async def _halt(self, seconds: float) -> None:
        halts, world = self.session.halts, self.world
        patience = world.chance.choice((0.001, LONG))  # whoever has the less gives up, perhaps beside another
        halt = await asyncio.wait_for(halts.begin(), patience)
        try:
            await asyncio.sleep(seconds)
            if world.runs:
                world.broken.append("the program ran during a halt")
        finally:
            halts.end(halt)

    def _is_about_to_stop(self) -> bool:
        """Whether a stop is about to be told, at which the user may have gdb call something already."""
        return self._lives() and self.session.loop.state.prepared is not None

    @precondition(lambda self: self.front.stopped or self._is_about_to_stop())
    @rule(what=any_of("what"), number=any_of("number"))
    def asks(self, what: str, number: int) -> None:
        inspector = self.session.inspector
        if what == "stack":
            self._command("stack", lambda: self._read_stack(TIDS[number]))
        elif what == "expression":
            question = evaluate("x", number * 1000)
            self._command("evaluate", lambda: inspector.ask(question, late=lambda value: value.text))
        elif not self.commands:
            self._command("call", lambda: self.session.interrupted(self._call))

    async def _read_stack(self, tid: int) -> None:
        """The stack that is shown is that of the stop at which the program stands."""
        FOR_A_FRONT_END.set(True)
        world, session = self.world, self.session
        epoch, stops = session.epoch, world.stops
        stack = await session.inspector.stack(tid)
        shown = session.state is State.NATIVE_STOPPED and not session.loop.state.letting_go
        if shown and (session.epoch, world.stops) == (epoch, stops) and stack.note != f"stop {stops}":
            world.broken.append(f"the stack of {stack.note} is shown at stop {stops}")

    async def _call(self) -> None:
        """The user has gdb call a function of the program (``gdb call f()``), which may meet a breakpoint."""
        if not self._is_about_to_stop():
            self.session.require(State.NATIVE_STOPPED)
        points = [number for number, point in self.world.points.items() if point.enabled]
        await self.gdb.call(self.world.chance.choice([None, INTERNAL, *points]))

    @precondition(lambda self: any(name not in KEPT for name, _, _ in self.commands))
    @rule()
    def give_up_a_command(self) -> None:
        task = next(task for name, task, _ in self.commands if name not in KEPT)
        self._at(task.cancel)

    @rule(seconds=any_of("seconds"))
    def time_passes(self, seconds: float) -> None:
        self.in_loop(lambda: self._watch(seconds))

    def walk(self, seed: int) -> None:
        """A life of which this number decides everything. hypothesis leaves rules out of most of its lives."""
        chance = random.Random(seed)
        self.begin(seed, chance.choice(LIVES_BEGIN))
        for _ in range(STEPS_OF_A_LIFE):
            possible = [one for one in self.rules if all(holds(self) for holds in one.preconditions)]
            weights = [OFTEN.get(one.function.__name__, 1) for one in possible]
            rule = chance.choices(possible, weights)[0]
            rule.function(self, **{name: chance.choice(CHOICES[name]) for name in rule.arguments})
        self.teardown()

    # -- how it is done ------------------------------------------------------------------------------

    def _at(self, act: Callable[[], object]) -> None:
        async def now() -> None:
            act()
            await self._watch(self.world.chance.choice((0.0, 0.0, 0.001, 0.1)))

        self.in_loop(now)

    def _command(self, name: str, start: Callable[[], Awaitable[Any]]) -> None:
        late = not self._lives()
        self.late += late

        async def now() -> None:
            task = asyncio.ensure_future(start())
            if late and name not in LOOKS:
                self.too_late.add(task)
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
        assert not self.front.wrong, self.front.wrong
        assert not self.world.broken, self.world.broken
        self.session.loop.state.check()
        waiting = []
        for name, task, started in self.commands:
            if not task.done():
                assert self.loop.time() - started < LONG, f"{name} has not ended"
                waiting.append((name, task, started))
            elif not task.cancelled() and (error := task.exception()) is None:
                assert task not in self.too_late, f"{name} was obeyed after the end"
            elif not task.cancelled():
                assert isinstance(error, (DualdbgError, asyncio.TimeoutError)), error
                answered = not isinstance(error, EngineTimeout) or isinstance(error, (AnswerOwed, NoAnswer))
                assert answered, f"{name} was not answered: {error}"
        self.commands = waiting
        idle = not waiting and not self.gdb.under_way
        if self.front.stopped and idle and self.world.alive and self.world.gdb_alive:
            known = set(self.session.stepper._native._breakpoints.now.numbers)
            left = set(self.world.step_breakpoints) - known
            assert not left, f"breakpoints {sorted(left)} of a step are left, and nobody knows them"

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
        if session.state is State.EXITED and world.gdb_alive:
            assert not world.alive or self.gdb.closed, "gdb keeps a dead process from its parent"
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
        if world.runs and session.state not in OVER:
            state = session.loop.state
            assert state.grip is Grip.FREE, f"gdb lets the program run, and {state.grip}"
            owed = 0 if world.debugpy_alive else state.owed
            assert state.owed <= self.python.silent + owed, f"debugpy owes {state.owed} answers"
        if world.alive and world.gdb_alive and not world.detached and session.state not in OVER:
            parked = {tid for number, tid in world.threads.items() if number in world.parked}
            shown = session.state is State.NATIVE_STOPPED
            kept = set() if shown else session.freezer.frozen & set(world.threads.values())
            assert parked == kept, f"{parked} are parked, and {session.freezer.frozen} frozen"
        await session.close()
        assert world.alive is False or world.detached or session.state in OVER
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        assert not self.front.wrong, self.front.wrong
