"""What a session's loop tells its front ends, also those that do not read."""

from __future__ import annotations

import asyncio
import gc
import warnings
from dataclasses import replace

import pytest

from dualdbg.backends.events import PythonCause, PythonStopped
from dualdbg.errors import EngineError, EngineLost, WrongState
from dualdbg.model import Event, Exit, Notice, Output, Resumed, State
from dualdbg.session import loop as loops
from dualdbg.session.effects import Effect, Effects, Halt, Resume
from dualdbg.session.loop import Loop
from dualdbg.session.state import Grip, Pause, TargetState
from dualdbg.session.stops.facts import PythonHold
from dualdbg.session.transition_table import ROWS, Row
from dualdbg.session.transitions.beginning import begin
from dualdbg.session.transitions.ending import exited


def test_work_that_has_not_begun_at_the_end_is_not_complained_of() -> None:
    """The interpreter writes a warning to standard error of a coroutine that nobody has ever awaited."""

    async def work() -> None:
        await asyncio.sleep(1)

    async def main() -> None:
        loop = Loop(TargetState(1, lambda: 0.0), lambda effect: None)
        loop.background(work())
        await loop.end_tasks()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        asyncio.run(main())
        gc.collect()
    assert not told


def test_a_front_end_that_does_not_read_misses_texts_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loops, "MOST_UNREAD", 3)

    async def main() -> tuple[list[Event], list[Event]]:
        loop = Loop(TargetState(1, lambda: 0.0), lambda effect: None)
        asleep, reader = loop.subscribe(), loop.subscribe()
        read: list[Event] = []
        for number in range(10):
            loop.tell(Output("console", f"{number}\n"))
            read.append(reader.get_nowait())
        loop.tell(Resumed(7))
        seen = [asleep.get_nowait() for _ in range(asleep.qsize())]
        loop.tell(Output("console", "read again\n"))
        return [*seen, asleep.get_nowait()], read

    seen, read = asyncio.run(main())
    assert [event.text for event in read if isinstance(event, Output)] == [f"{n}\n" for n in range(10)]
    assert [event.text for event in seen if isinstance(event, Output)] == [
        "0\n",
        "1\n",
        "2\n",
        "read again\n",
    ]
    notice, resumed = seen[3:5]
    assert isinstance(notice, Notice) and notice.message.startswith("7 texts are left out here")
    assert resumed == Resumed(7)


def test_an_end_with_entries_that_wait_leaves_no_traceback() -> None:
    """asyncio writes one to the terminal for what a callback raises."""
    trouble: list[object] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: trouble.append(context))
        loop = Loop(TargetState(1, lambda: 0.0), lambda effect: None)
        loop.open()
        loop.put(begin)
        await loop.end_tasks()
        await asyncio.sleep(0)

    asyncio.run(main())
    assert not trouble


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transitions of these tests may do anything."""
    for name in ("change", "half", "run_while_it_is_judged"):
        monkeypatch.setitem(ROWS, name, Row(name, Row.ANYWHERE, Row.ANYWHERE, ""))


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("error", [AssertionError("broken"), WrongState("refused")])
def test_an_entry_takes_place_as_a_whole_or_not_at_all(error: Exception) -> None:
    """Else what a defect leaves would break the entries that follow, were it the end of the target."""

    def change(state: TargetState) -> Effects:
        hold = next(iter(state.python_holds.values()))
        hold.read, state.owed = True, -1
        state.python_holds.clear()
        state.halts.append(Halt())
        state.pause.natively = True
        raise error

    def half(state: TargetState) -> Effects:
        state.grip = Grip.HALTED  # for nobody, which the loop finds
        return []

    async def main() -> None:
        loop = Loop(TargetState(1, lambda: 0.0), lambda effect: None)
        hold = PythonHold(PythonStopped(PythonCause.BREAKPOINT, 1))
        loop.state.python_holds[1] = hold
        before = replace(loop.state)
        loop.open()
        with pytest.raises(type(error)):
            await loop.ask(change)
        with pytest.raises(AssertionError, match="halted for nobody"):
            await loop.ask(half)
        assert loop.state == replace(before, python_holds={1: hold}, halts=[]) and not hold.read
        assert loop.state.pause == Pause()
        await loop.ask(exited, Exit(0))
        assert loop.state.phase is State.EXITED

    asyncio.run(main())


@pytest.mark.usefixtures("rows")
def test_what_the_state_contradicts_is_not_asked_of_an_engine() -> None:
    performed: list[Effect] = []

    def run_while_it_is_judged(state: TargetState) -> Effects:
        state.grip = Grip.JUDGING
        return [Resume()]

    async def main() -> None:
        loop = Loop(TargetState(1, lambda: 0.0), performed.append)
        loop.open()
        with pytest.raises(AssertionError, match="Resume"):
            await loop.ask(run_while_it_is_judged)
        assert loop.state.grip is Grip.FREE and not performed

    asyncio.run(main())


def test_work_that_an_engines_end_breaks_adds_nothing_to_what_is_told_of_that_end() -> None:
    async def main() -> list[Event]:
        loop = Loop(TargetState(1, lambda: 0.0), lambda effect: None)
        told = loop.subscribe()

        async def broken(error: EngineError) -> None:
            raise error

        assert not await loop.guarded(broken(EngineLost("gdb is gone")))
        assert not await loop.guarded(broken(EngineError("gdb refused")))
        return [told.get_nowait() for _ in range(told.qsize())]

    assert asyncio.run(main()) == [Notice("error", "gdb refused", "")]
