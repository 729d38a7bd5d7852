"""Rows of the session's table: each was a race that real processes met once in hundreds of runs. Pure."""

from __future__ import annotations

import pytest

from dualdbg.backends.events import NativeStopped, PythonStopped, StopCause
from dualdbg.errors import CommandError, WrongState
from dualdbg.model import Exit, Exited, Reason, Resumed, State, Stopped, Thread
from dualdbg.session.effects import (
    AnswerHalt,
    Effect,
    Effects,
    Halt,
    Interrupt,
    Post,
    PrepareNative,
    PreparePython,
    ReadNative,
    ReadPython,
    Resume,
    Tell,
)
from dualdbg.session.state import Grip, TargetState
from dualdbg.session.stops.facts import UNREAD, Need, Picture, PythonHold, Sender

PID = 10
THREAD = Thread(PID, "python")
PICTURE = Picture(THREAD, None)
HIT = NativeStopped(StopCause.BREAKPOINT, PID, 1, 0x100, 7)
SIGINT = NativeStopped(StopCause.SIGNAL, PID, 1, 0x100, signal="SIGINT")
INTERRUPTED = NativeStopped(StopCause.INTERRUPTED, PID, 1, 0x100, signal="SIGURG")
LIBRARY = NativeStopped(StopCause.LIBRARIES, PID, 1)
PYTHON = PythonStopped("breakpoint", 1, breakpoints=(0,))


def running() -> TargetState:
    state = TargetState(PID, lambda: 1.0)
    state.begin()
    return state


def one(effects: Effects, kind: type) -> Effect:
    found = [effect for effect in effects if isinstance(effect, kind)]
    assert len(found) == 1, effects
    return found[0]


def told(effects: Effects) -> list[object]:
    return [effect.event for effect in effects if isinstance(effect, Tell)]


def hit(state: TargetState) -> PrepareNative:
    """A native breakpoint of the user's, up to the point where it is prepared."""
    need = one(state.native_stopped(HIT), ReadNative)
    assert isinstance(need, ReadNative) and need.need is Need.STEP
    need.facts.ends_step = None
    need = one(state.native_fact_read(need.facts), ReadNative)
    assert isinstance(need, ReadNative) and need.need is Need.BREAKPOINTS
    need.facts.met = (1,), None
    need = one(state.native_fact_read(need.facts), ReadNative)
    assert isinstance(need, ReadNative) and need.need is Need.THREAD
    need.facts.thread = 1, PID
    prepare = one(state.native_fact_read(need.facts), PrepareNative)
    assert isinstance(prepare, PrepareNative)
    return prepare


def decided(state: TargetState) -> PythonHold:
    """A Python breakpoint of the user's, up to the point where it is prepared."""
    read = one(state.python_stopped(PYTHON), ReadPython)
    assert isinstance(read, ReadPython) and read.need is Need.PLACE
    read.hold.read, read.hold.tid = True, PID
    assert one(state.python_fact_read(read.hold), ReadPython) == ReadPython(read.hold, Need.MET)
    read.hold.met = (2,), None
    assert isinstance(one(state.python_fact_read(read.hold), PreparePython), PreparePython)
    return read.hold


def interrupted(state: TargetState) -> Effects:
    _, *effects = state.native_stopped(INTERRUPTED)  # the first says that the loop has met it
    return effects


def sigint(state: TargetState, sender: Sender) -> Effects:
    need = one(state.native_stopped(SIGINT), ReadNative)
    assert isinstance(need, ReadNative) and need.need is Need.SENDER
    need.facts.sender = sender
    return state.native_fact_read(need.facts)


def test_a_native_stop_is_told_once_and_a_resume_when_gdb_has_let_go() -> None:
    state = running()
    prepared = hit(state)
    assert (state.phase, state.grip) == (State.RUNNING, Grip.SHOWN)
    [stopped] = told(state.native_ready(prepared, PICTURE))
    assert isinstance(stopped, Stopped) and stopped.stop.breakpoints == (1,)
    assert state.native_ready(prepared, PICTURE) == []
    assert told(state.leave_natively(None, False, None, False)) == []
    assert state.is_mute
    assert told(state.departed()) == [Resumed(state.epoch)]
    assert state.departed() == []


def test_the_consent_of_gdb_may_be_read_after_its_next_stop() -> None:
    state = running()
    state.native_ready(hit(state), PICTURE)
    state.leave_natively(None, False, None, False)
    effects = state.native_stopped(LIBRARY)
    assert told(effects) == [Resumed(state.epoch)]
    assert state.departed() == []
    assert state.grip is Grip.JUDGING


def test_a_refused_resume_leaves_the_stop_as_it_was() -> None:
    state = running()
    state.native_ready(hit(state), PICTURE)
    before = state.stop
    state.leave_natively(None, False, None, False)
    assert told(state.native_refused()) == []
    assert (state.phase, state.stop) == (State.NATIVE_STOPPED, before)
    state.check()


def test_a_python_stop_waits_for_the_native_one_and_is_not_decided_twice() -> None:
    state = running()
    hold = decided(state)
    prepared = hit(state)
    assert told(state.python_ready(hold, PICTURE)) == []
    state.native_ready(prepared, PICTURE)
    state.leave_natively(None, False, None, False)
    resumed, stopped = told(state.departed())
    assert isinstance(resumed, Resumed) and isinstance(stopped, Stopped)
    assert stopped.stop.breakpoints == (2,)
    state.check()


def test_a_python_stop_that_a_native_one_overtook_is_shown_again() -> None:
    state = running()
    hold = decided(state)
    [first] = told(state.python_ready(hold, PICTURE))
    state.native_ready(hit(state), PICTURE)
    state.leave_natively(None, False, None, False)
    read = one(state.departed(), ReadPython)
    assert read == ReadPython(hold, Need.PLACE)
    hold.read = True
    assert isinstance(one(state.python_fact_read(hold), PreparePython), PreparePython)
    [again] = told(state.python_ready(hold, PICTURE))
    assert isinstance(first, Stopped) and isinstance(again, Stopped)
    assert again.stop.reason is Reason.PAUSE and again.stop.epoch > first.stop.epoch


def test_a_python_stop_is_not_left_while_a_native_one_is_prepared() -> None:
    state = running()
    hold = decided(state)
    state.python_ready(hold, PICTURE)
    hit(state)
    with pytest.raises(WrongState):
        state.leave_in_python("continue")
    assert state.is_mute


def test_debugpy_may_refuse_to_go_on() -> None:
    state = running()
    hold = decided(state)
    state.python_ready(hold, PICTURE)
    post = one(state.leave_in_python("goto", None, 3), Post)
    assert isinstance(post, Post) and post.departure == state.epoch
    effects = state.python_refused(post.departure, "goto", CommandError("no"))
    assert one(effects, ReadPython) == ReadPython(hold, Need.PLACE)


def test_a_halt_while_gdb_judges_a_stop_needs_no_interrupt() -> None:
    state = running()
    need = one(state.native_stopped(LIBRARY), ReadNative)
    assert isinstance(need, ReadNative)
    halt = Halt()
    assert state.halt_wanted(halt) == []
    need.facts.done = True
    assert state.native_fact_read(need.facts) == [AnswerHalt(halt, True)]
    assert one(state.halt_done(halt), Resume) == Resume()


def test_a_second_halt_is_given_without_a_run_between() -> None:
    state = running()
    first, second = Halt(), Halt()
    assert state.halt_wanted(first) == [Interrupt()]
    assert state.halt_wanted(second) == []
    assert interrupted(state) == [AnswerHalt(first, True)]
    assert state.halt_done(first) == [AnswerHalt(second, True)]
    assert state.halt_done(second) == [Resume()]


def test_a_halt_that_was_given_up_ends_whenever_it_comes() -> None:
    state = running()
    halt = Halt()
    state.halt_wanted(halt)
    state.halt_done(halt)
    assert interrupted(state) == [Resume()]


def test_the_programs_own_sigint_reaches_it_after_a_halt() -> None:
    state = running()
    halt = Halt()
    state.halt_wanted(halt)
    assert sigint(state, Sender.OTHER) == [AnswerHalt(halt, True)]
    assert state.halt_done(halt) == [Resume(signal=True)]


def test_a_pause_during_a_halt_becomes_a_stop() -> None:
    state = running()
    halt = Halt()
    state.halt_wanted(halt)
    interrupted(state)
    assert state.pause_wanted() == []
    read = one(state.halt_done(halt), ReadNative)
    assert isinstance(read, ReadNative) and read.need is Need.PAUSE
    read.facts.can_pause, read.facts.thread = False, (1, PID)
    prepare = one(state.native_fact_read(read.facts), PrepareNative)
    assert isinstance(prepare, PrepareNative) and prepare.verdict.reason is Reason.PAUSE


def test_debugpys_pause_that_came_too_late_is_no_stop() -> None:
    state = running()
    state.pause_wanted()
    read = interrupted(state)[0]
    assert isinstance(read, ReadNative)
    read.facts.can_pause, read.facts.thread = True, (1, PID)
    effects = state.native_fact_read(read.facts)
    assert isinstance(one(effects, Post), Post) and isinstance(one(effects, Resume), Resume)
    state.native_ready(hit(state), PICTURE)  # a native breakpoint serves the user as well
    state.leave_natively(None, False, None, False)
    state.departed()
    late = one(state.python_stopped(PythonStopped("pause", 1)), ReadPython)
    assert isinstance(late, ReadPython)
    late.hold.read = True
    post = one(state.python_fact_read(late.hold), Post)
    assert isinstance(post, Post) and post.request.command == "continue"


def test_nothing_is_told_after_the_end() -> None:
    state = running()
    prepared = hit(state)
    assert told(state.exited(Exit(0))) == [Exited(Exit(0))]
    assert state.native_ready(prepared, PICTURE) == []
    assert state.native_stopped(HIT) == []
    assert state.python_stopped(PYTHON) == []
    assert state.exited(Exit(1)) == []


def test_facts_of_a_stop_that_another_replaced_are_not_used() -> None:
    state = running()
    old = one(state.native_stopped(HIT), ReadNative)
    assert isinstance(old, ReadNative) and old.facts.ends_step is UNREAD
    state.native_stopped(LIBRARY)
    assert state.native_fact_read(old.facts) == []
