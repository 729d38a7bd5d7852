"""Rows of the session's table about halts, pauses and calls: each was a race that real processes met. Pure."""

from __future__ import annotations

from dataclasses import replace

from dualdbg.backends.events import PythonCause, PythonStopped
from dualdbg.model import Exit, Exited, Reason, State, Thread
from dualdbg.session.effects import (
    AnswerHalt,
    Forget,
    Halt,
    Interrupt,
    Post,
    PrepareNative,
    ReadNative,
    ReadPython,
    Release,
    Resume,
)
from dualdbg.session.state import Grip
from dualdbg.session.stops.facts import Need, Sender
from dualdbg.session.transitions.ending import exited
from dualdbg.session.transitions.going_on import (
    departed,
    leave_natively,
)
from dualdbg.session.transitions.halts import halt_done, halt_wanted, pause_wanted
from dualdbg.session.transitions.native import native_fact_read, native_ready, native_stopped, native_unjudged
from dualdbg.session.transitions.python import (
    python_position_read,
    python_stopped,
)
from tests.session.state_rows import (
    HIT,
    INTERRUPTED,
    LIBRARY,
    PICTURE,
    PID,
    POSITION,
    PYTHON,
    hit,
    interrupted,
    one,
    running,
    sigint,
    told,
)


def test_a_halt_while_gdb_judges_a_stop_needs_no_interrupt() -> None:
    state = running()
    need = one(native_stopped(state, LIBRARY), ReadNative)
    assert isinstance(need, ReadNative)
    halt = Halt()
    assert halt_wanted(state, halt) == []
    assert native_fact_read(state, replace(need.facts, done=True)) == [AnswerHalt(halt, True)]
    assert one(halt_done(state, halt), Resume) == Resume()


def test_a_second_halt_is_given_without_a_run_between() -> None:
    state = running()
    first, second = Halt(), Halt()
    assert halt_wanted(state, first) == [Interrupt()]
    assert halt_wanted(state, second) == []
    assert interrupted(state) == [AnswerHalt(first, True)]
    assert halt_done(state, first) == [AnswerHalt(second, True)]
    assert halt_done(state, second) == [Resume()]


def test_a_halt_that_was_given_up_ends_whenever_it_comes() -> None:
    state = running()
    halt = Halt()
    halt_wanted(state, halt)
    halt_done(state, halt)
    assert interrupted(state) == [Resume()]


def test_the_programs_own_sigint_reaches_it_after_a_halt() -> None:
    state = running()
    halt = Halt()
    halt_wanted(state, halt)
    assert sigint(state, Sender.OTHER) == [AnswerHalt(halt, True)]
    assert halt_done(state, halt) == [Resume(signal=True)]


def test_a_pause_during_a_halt_becomes_a_stop() -> None:
    state = running()
    halt = Halt()
    halt_wanted(state, halt)
    interrupted(state)
    assert pause_wanted(state) == []
    read = one(halt_done(state, halt), ReadNative)
    assert isinstance(read, ReadNative) and read.need is Need.PAUSE
    facts = replace(read.facts, can_pause=False, thread=(1, PID))
    prepare = one(native_fact_read(state, facts), PrepareNative)
    assert isinstance(prepare, PrepareNative) and prepare.verdict.reason is Reason.PAUSE


def test_a_pause_waits_for_work_that_meets_a_stop_which_is_for_nobody() -> None:
    state = running()
    halt = Halt()
    halt_wanted(state, halt)
    interrupted(state)
    assert pause_wanted(state) == []
    need = one(native_stopped(state, LIBRARY), ReadNative)  # the work runs code of the program
    assert isinstance(need, ReadNative) and need.need is Need.LIBRARIES
    assert native_fact_read(state, replace(need.facts, done=True)) == []
    assert state.grip is Grip.HALTED
    read = one(halt_done(state, halt), ReadNative)
    assert isinstance(read, ReadNative) and read.need is Need.PAUSE


def test_at_a_stop_that_is_shown_in_the_middle_of_a_halt_frozen_threads_stand_as_they_were() -> None:
    """Whoever had the halt may park them at any time until its end is heard of."""
    state = running()
    halt = Halt()
    halt_wanted(state, halt)
    interrupted(state)
    need = one(native_stopped(state, LIBRARY), ReadNative)
    assert isinstance(need, ReadNative)
    assert Release() in native_unjudged(state, need.facts, Thread(PID, "main"))
    assert state.grip is Grip.SHOWN
    assert halt_done(state, halt) == [Release()]


def test_debugpys_pause_that_came_too_late_is_no_stop() -> None:
    state = running()
    pause_wanted(state)
    read = interrupted(state)[0]
    assert isinstance(read, ReadNative)
    effects = native_fact_read(state, replace(read.facts, can_pause=True, thread=(1, PID)))
    assert isinstance(one(effects, Post), Post) and isinstance(one(effects, Resume), Resume)
    native_ready(state, hit(state), PICTURE)  # a native breakpoint serves the user as well
    leave_natively(state, None, False, None, False)
    departed(state)
    late = one(python_stopped(state, PythonStopped(PythonCause.PAUSED, 1)), ReadPython)
    assert isinstance(late, ReadPython)
    post = one(python_position_read(state, late.hold, POSITION), Post)
    assert isinstance(post, Post) and post.request.command == "continue"


def test_nothing_is_told_after_the_end() -> None:
    state = running()
    prepared = hit(state)
    assert told(exited(state, Exit(0))) == [Exited(Exit(0))]
    assert native_ready(state, prepared, PICTURE) == []
    assert native_stopped(state, HIT) == []
    assert python_stopped(state, PYTHON) == []
    assert exited(state, Exit(1)) == []


def test_what_was_read_of_a_stop_is_stale_where_a_call_of_the_users_has_met_another_one() -> None:
    state = running()
    prepared = hit(state)
    effects = native_stopped(state, INTERRUPTED)
    assert Forget() in effects, "it is about to be told"
    again = one(effects, PrepareNative)
    assert isinstance(again, PrepareNative) and native_ready(state, prepared, PICTURE) == []
    native_ready(state, again, PICTURE)
    assert Forget() in native_stopped(state, INTERRUPTED)
    assert state.phase is State.NATIVE_STOPPED and state.grip is Grip.SHOWN
