"""Rows of the session's table: each was a race that real processes met once in hundreds of runs. Pure."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dualdbg.backends.events import NativeStopped, PythonCause, PythonStopped, StopCause
from dualdbg.backends.native import Move
from dualdbg.errors import CommandError, WrongState
from dualdbg.model import Exit, Exited, Notice, Reason, Resumed, State, Stopped
from dualdbg.session import transitions
from dualdbg.session.effects import (
    AfterStop,
    AnswerHalt,
    BeforeRun,
    Effects,
    Forget,
    Halt,
    Interrupt,
    MissDebugpy,
    Post,
    PrepareNative,
    PreparePython,
    ReadNative,
    ReadPython,
    RenewDebugpy,
    Resume,
    Tell,
)
from dualdbg.session.state import Grip, TargetState
from dualdbg.session.stepping.step import Step
from dualdbg.session.stops.facts import UNREAD, NativeHold, Need
from dualdbg.session.transition_table import check_transition
from dualdbg.session.transitions.beginning import attached, run_for_a_moment
from dualdbg.session.transitions.ending import debugpy_lost, debugpy_missed, exited, gdb_lost, letting_go
from dualdbg.session.transitions.going_on import (
    departed,
    leave_in_python,
    leave_natively,
    native_refused,
    python_agreed,
    python_refused,
)
from dualdbg.session.transitions.halts import halt_done, halt_wanted, pause_wanted
from dualdbg.session.transitions.native import native_fact_read, native_ready, native_stopped, resume_failed
from dualdbg.session.transitions.python import (
    library_passed_over,
    python_hits_read,
    python_position_read,
    python_ready,
    python_stopped,
)
from tests.session.state_rows import (
    HIT,
    LIBRARY,
    PICTURE,
    PID,
    POSITION,
    PYTHON,
    STEP,
    STEPPED,
    THREAD,
    decided,
    hit,
    interrupted,
    one,
    running,
    told,
)


def test_a_native_stop_is_told_once_and_a_resume_when_gdb_has_let_go() -> None:
    state = running()
    prepared = hit(state)
    assert (state.phase, state.grip) == (State.RUNNING, Grip.SHOWN)
    [stopped] = told(native_ready(state, prepared, PICTURE))
    assert isinstance(stopped, Stopped) and stopped.stop.breakpoints == (1,)
    assert native_ready(state, prepared, PICTURE) == []
    assert told(leave_natively(state, None, False, None, False)) == []
    assert state.is_mute
    assert told(departed(state)) == [Resumed(state.epoch)]
    assert departed(state) == []


def test_the_consent_of_gdb_may_be_read_after_its_next_stop() -> None:
    state = running()
    native_ready(state, hit(state), PICTURE)
    leave_natively(state, None, False, None, False)
    effects = native_stopped(state, LIBRARY)
    assert told(effects) == [Resumed(state.epoch)]
    assert departed(state) == []
    assert state.grip is Grip.JUDGING


def test_a_refused_resume_leaves_the_stop_as_it_was() -> None:
    state = running()
    native_ready(state, hit(state), PICTURE)
    before = state.stop
    leave_natively(state, None, False, None, False)
    assert told(native_refused(state)) == []
    assert (state.phase, state.stop) == (State.NATIVE_STOPPED, before)
    state.check()


def test_a_python_stop_waits_for_the_native_one_and_is_not_decided_twice() -> None:
    state = running()
    hold = decided(state)
    prepared = hit(state)
    assert told(python_ready(state, hold, PICTURE)) == []
    native_ready(state, prepared, PICTURE)
    leave_natively(state, None, False, None, False)
    resumed, stopped = told(departed(state))
    assert isinstance(resumed, Resumed) and isinstance(stopped, Stopped)
    assert stopped.stop.breakpoints == (2,)
    state.check()


def test_a_python_stop_that_a_native_one_overtook_is_shown_again() -> None:
    state = running()
    hold = decided(state)
    [first] = told(python_ready(state, hold, PICTURE))
    native_ready(state, hit(state), PICTURE)
    leave_natively(state, None, False, None, False)
    read = one(departed(state), ReadPython)
    assert read == ReadPython(hold, Need.POSITION)
    assert isinstance(one(python_position_read(state, hold, POSITION), PreparePython), PreparePython)
    [again] = told(python_ready(state, hold, PICTURE))
    assert isinstance(first, Stopped) and isinstance(again, Stopped)
    assert again.stop.reason is Reason.PAUSE and again.stop.epoch > first.stop.epoch


def test_a_stop_that_is_about_to_be_told_serves_a_pause() -> None:
    state = running()
    prepared = hit(state)
    assert pause_wanted(state) == []
    interrupted(state)  # of a call by gdb, before the stop is told
    assert not state.pause.natively and state.prepared == prepared


def test_gdb_s_stops_mean_nothing_while_it_lets_go() -> None:
    state = running()
    letting_go(state, True)
    assert native_stopped(state, HIT) == []
    letting_go(state, False)
    hit(state)


def test_a_python_stop_is_not_left_while_a_native_one_is_prepared() -> None:
    state = running()
    hold = decided(state)
    python_ready(state, hold, PICTURE)
    hit(state)
    with pytest.raises(WrongState):
        leave_in_python(state, "continue")
    assert state.is_mute


def test_debugpy_may_refuse_to_go_on() -> None:
    state = running()
    hold = decided(state)
    python_ready(state, hold, PICTURE)
    post = one(leave_in_python(state, "goto", None, 3), Post)
    assert isinstance(post, Post) and post.departure == state.epoch
    effects = python_refused(state, post.departure, "goto", CommandError("no"))
    assert one(effects, ReadPython) == ReadPython(hold, Need.POSITION)


def test_a_move_that_is_refused_leaves_the_stop_as_it_was() -> None:
    """Nobody has heard that the target ran, so nobody hears of a new stop."""
    state = running()
    hold = decided(state)
    python_ready(state, hold, PICTURE)
    before = replace(state, python_holds=dict(state.python_holds))
    effects = leave_in_python(state, "goto", None, 3, None, lambda error: None)
    assert [type(one) for one in effects] == [BeforeRun, Post]
    assert python_refused(state, state.epoch, "goto", CommandError("no")) == [AfterStop()]
    assert state == before


def test_a_move_that_debugpy_agrees_to_is_told_then() -> None:
    state = running()
    python_ready(state, decided(state), PICTURE)
    leave_in_python(state, "goto", None, 3, None, lambda error: None)
    assert python_agreed(state, state.epoch) == [Forget(), Tell(Resumed(state.epoch))]
    assert python_agreed(state, state.epoch) == []


def test_a_native_stop_that_comes_before_the_answer_is_told_after_the_move() -> None:
    state = running()
    hold = decided(state)
    python_ready(state, hold, PICTURE)
    post = one(leave_in_python(state, "goto", None, 3, None, lambda error: None), Post)
    assert isinstance(post, Post) and post.departure is not None
    told = [each.event for each in native_ready(state, hit(state), PICTURE) if isinstance(each, Tell)]
    assert [type(event) for event in told] == [Resumed, Stopped]
    assert python_refused(state, post.departure, "goto", CommandError("no")) == [
        Tell(Notice("error", "goto was refused: no"))
    ]
    assert hold in state.python_holds.values()


def test_a_refusal_of_debugpy_may_come_after_a_native_stop() -> None:
    state = running()
    hold = decided(state)
    python_ready(state, hold, PICTURE)
    post = one(leave_in_python(state, "goto", None, 3), Post)
    assert isinstance(post, Post) and post.departure is not None
    native_ready(state, hit(state), PICTURE)
    step = Step("next", PID, 1)
    leave_natively(state, step, True, None, False)
    departed(state)
    effects = python_refused(state, post.departure, "goto", CommandError("no"))
    assert one(effects, ReadPython) == ReadPython(hold, Need.POSITION)
    assert state.step is step, "the refusal is about an earlier command"


def test_a_call_of_the_users_may_meet_a_stop_that_is_not_told_yet() -> None:
    state = running()
    native_ready(state, hit(state), PICTURE)
    native_stopped(state, replace(HIT))
    with pytest.raises(WrongState):
        leave_natively(state, None, False, None, False)
    assert state.grip is Grip.JUDGING


def test_gdb_may_refuse_to_let_an_attached_program_run_for_a_moment() -> None:
    state = TargetState(PID, lambda: 1.0)
    attached(state, NativeHold(HIT, PID, 1))
    run_for_a_moment(state)
    [stopped] = told(resume_failed(state, THREAD))
    assert isinstance(stopped, Stopped) and state.phase is State.NATIVE_STOPPED


@pytest.mark.parametrize("told_before", [False, True])
def test_gdb_may_say_that_it_runs_and_then_that_it_cannot(told_before: bool) -> None:
    """As with more watchpoints than the processor has registers. Whether it runs may be read before or after."""
    state = running()
    native_ready(state, hit(state), PICTURE)
    leave_natively(state, None, False, None, False)
    left = departed(state) if told_before else []
    events = told([*left, *resume_failed(state, THREAD)])
    assert [type(event) for event in events] == [Resumed, Stopped]
    assert departed(state) == [] and state.phase is State.NATIVE_STOPPED
    state.check()


def passed_over(state: TargetState, again: Move) -> Effects:
    """A native stop within the step under way, of which gdb makes ``again``."""
    need = one(native_stopped(state, STEPPED), ReadNative)
    assert isinstance(need, ReadNative) and need.need is Need.STEP
    return native_fact_read(state, replace(need.facts, ends_step=False, again=again))


@pytest.mark.parametrize("again", [Move.STEP, Move.NEXT])
def test_gdb_steps_again_within_a_step(again: Move) -> None:
    state = running()
    state.step = STEP
    assert passed_over(state, again) == [Resume(again=(again, STEP.gdb_thread))]
    assert interrupted(state) == [Resume()]  # once


@pytest.mark.parametrize("again", [None, Move.STEP])
def test_a_stop_ends_the_step_of_gdb_that_is_not_made_again(again: Move | None) -> None:
    """A Python stop has gdb interrupted only for a step that it works on."""
    state = running()
    state.step, state.debugpy_step, state.gdb_steps = STEP, STEP, True
    need = one(native_stopped(state, STEPPED), ReadNative)
    assert isinstance(need, ReadNative)
    native_fact_read(state, replace(need.facts, ends_step=False, again=again))
    read = one(python_stopped(state, PythonStopped(PythonCause.STEPPED, 1)), ReadPython)
    assert isinstance(read, ReadPython)
    python_position_read(state, read.hold, POSITION)
    prepare = one(python_hits_read(state, read.hold, ((), None)), PreparePython)
    assert isinstance(prepare, PreparePython) and prepare.cancel_native is (again is not None)


def test_gdb_steps_again_after_a_halt_whose_work_meets_a_stop() -> None:
    state = running()
    state.step = STEP
    halt = Halt()
    halt_wanted(state, halt)
    assert passed_over(state, Move.STEP) == [AnswerHalt(halt, True)]
    need = one(native_stopped(state, LIBRARY), ReadNative)
    assert isinstance(need, ReadNative)
    assert native_fact_read(state, replace(need.facts, done=True)) == []
    assert halt_done(state, halt) == [Resume(again=(Move.STEP, STEP.gdb_thread))]


def test_gdb_does_not_step_again_after_a_step_that_a_stop_cut_short() -> None:
    state = running()
    state.step = STEP
    halt = Halt()
    halt_wanted(state, halt)
    passed_over(state, Move.STEP)
    native_ready(state, hit(state), PICTURE)
    halt_done(state, halt)
    leave_natively(state, None, False, False, False)
    departed(state)
    assert interrupted(state) == [Resume()]


def stepped(state: TargetState) -> Effects:
    """debugpy's step ends, and is told."""
    read = one(python_stopped(state, PythonStopped(PythonCause.STEPPED, 1)), ReadPython)
    assert isinstance(read, ReadPython)
    python_position_read(state, read.hold, POSITION)
    python_hits_read(state, read.hold, ((), None))
    return python_ready(state, read.hold, PICTURE)


def test_a_step_over_a_library_is_told_where_the_step_ends() -> None:
    state = running()
    state.step = state.debugpy_step = STEP
    library_passed_over(state)
    notice, stop = told(stepped(state))
    assert isinstance(notice, Notice) and "a library was passed over" in notice.message
    assert isinstance(stop, Stopped)
    leave_in_python(state, "stepIn", 1, step=STEP)
    assert [type(event) for event in told(stepped(state))] == [Stopped]  # once


def test_a_step_over_a_library_is_no_news_at_another_stop() -> None:
    state = running()
    state.step = state.debugpy_step = STEP
    library_passed_over(state)
    events = told(python_ready(state, decided(state), PICTURE))
    assert not any("library" in event.message for event in events if isinstance(event, Notice))
    leave_in_python(state, "stepIn", 1, step=STEP)
    assert [type(event) for event in told(stepped(state))] == [Stopped]


def test_what_the_user_has_had_gdb_catch_is_shown_where_it_is() -> None:
    """It is no pause, which debugpy would make elsewhere."""
    state = running()
    need = one(native_stopped(state, NativeStopped(StopCause.OTHER, PID, 2, 0x100, words="fork")), ReadNative)
    assert isinstance(need, ReadNative) and need.need is Need.STEP
    need = one(native_fact_read(state, replace(need.facts, ends_step=None)), ReadNative)
    assert isinstance(need, ReadNative) and need.need is Need.THREAD
    prepare = one(native_fact_read(state, replace(need.facts, thread=(2, PID + 1))), PrepareNative)
    assert isinstance(prepare, PrepareNative)
    assert (prepare.verdict.reason, prepare.verdict.description) == (Reason.BREAKPOINT, "fork")


def test_the_end_of_a_program_whose_gdb_is_gone_is_told_once() -> None:
    """Its parent and who watches it may both say it."""
    state = running()
    gdb_lost(state, "it was killed", launched=True)
    assert told(exited(state, Exit(None, 9))) == [Exited(Exit(None, 9))]
    assert exited(state, Exit(None, 9)) == []


def test_a_halt_after_a_failed_resume_has_an_interrupt_of_its_own() -> None:
    """The interrupt before it met a target that stood already."""
    state = running()
    first, second = Halt(), Halt()
    halt_wanted(state, first)
    interrupted(state)
    halt_done(state, first)
    assert halt_wanted(state, second) == [Interrupt()]
    resume_failed(state, THREAD)
    leave_natively(state, None, False, None, False)
    departed(state)
    assert halt_wanted(state, Halt()) == [Interrupt()]


def test_facts_of_a_stop_that_another_replaced_are_not_used() -> None:
    state = running()
    old = one(native_stopped(state, HIT), ReadNative)
    assert isinstance(old, ReadNative) and old.facts.ends_step is UNREAD
    native_stopped(state, LIBRARY)
    assert native_fact_read(state, old.facts) == []


def test_only_transitions_write_the_state() -> None:
    """A worker that fills in a fact of its own accord would be a second writer."""
    session = Path(transitions.__file__).parent.parent
    kept = {"state", "facts", "hold", "departure"}  # as variables and attributes of this kind are called
    # Of lists, sets and dictionaries.
    changing = {
        "add",
        "append",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "setdefault",
        "update",
    }
    wrong = []
    for path in sorted(session.rglob("*.py")):
        if path.parent.name == "transitions" or path.name == "state.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                owner = node.value
                name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", None)
                if name in kept:
                    wrong.append(f"{path.relative_to(session)}:{node.lineno} {ast.unparse(node)}")
            changed = None
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in changing
            ):
                changed = node.func.value
            elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                changed = node.value
            if changed is not None:
                names = {getattr(one, "attr", getattr(one, "id", None)) for one in ast.walk(changed)}
                if names & kept:
                    wrong.append(f"{path.relative_to(session)}:{node.lineno} {ast.unparse(node)}")
    assert not wrong


EXEC = NativeStopped(StopCause.EXEC, PID, 1)


def test_what_debugpy_held_ends_with_the_program() -> None:
    state = running()
    python_stopped(state, PYTHON)
    state.step = state.debugpy_step = STEP
    effects = native_stopped(state, EXEC)
    one(effects, RenewDebugpy)
    assert (
        not state.python_holds and state.reading is None and state.step is None and state.debugpy_step is None
    )
    assert one(effects, ReadNative).need is Need.PROGRAM
    state.check()


def test_a_shown_python_stop_is_over_when_another_thread_replaces_the_program() -> None:
    state = running()
    python_stopped(state, PYTHON)
    hold = state.python_holds[1]
    python_position_read(state, hold, POSITION)
    python_hits_read(state, hold, ((), None))
    python_ready(state, hold, PICTURE)
    assert state.phase is State.PYTHON_STOPPED
    effects = native_stopped(state, EXEC)
    assert state.phase is State.RUNNING and state.stop is None
    assert isinstance(one(effects, Tell).event, Resumed)
    assert python_position_read(state, hold, POSITION) == [], "what was read of it comes too late"
    state.check()


def test_the_end_of_the_earlier_programs_debugpy_is_no_news() -> None:
    state = running()
    missed = one(debugpy_lost(state, "it closed the connection"), MissDebugpy)
    native_stopped(state, EXEC)
    python_stopped(state, PYTHON)
    assert debugpy_missed(state, missed.detail, missed.programs) == [] and state.python_holds
    again = one(debugpy_lost(state, "it was killed"), MissDebugpy)
    assert one(debugpy_missed(state, again.detail, again.programs), Tell)


def test_a_pause_that_debugpy_was_to_make_is_made_by_gdb() -> None:
    state = running()
    state.pause.in_python = True
    native_stopped(state, EXEC)
    assert state.pause.natively and not state.pause.in_python


def test_page_of_transitions_is_that_of_the_code() -> None:
    page = Path(__file__).parents[2] / "docs/design/states.md"
    made = subprocess.run(
        [sys.executable, "scripts/state_table.py"],
        cwd=page.parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert page.read_text() == made.stdout, "scripts/state_table.py > docs/design/states.md"


def test_undeclared_change_of_phase_or_grip_is_refused() -> None:
    stopped, running = (State.NATIVE_STOPPED, Grip.SHOWN), (State.RUNNING, Grip.FREE)
    check_transition("run_for_a_moment", (State.RUNNING, Grip.SHOWN), running)
    for name, before, after in (
        ("run_for_a_moment", stopped, running),  # from elsewhere
        ("departed", (State.RUNNING, Grip.SHOWN), stopped),  # to elsewhere
        ("pause_wanted", running, stopped),  # it changes neither
        ("leave_in_python", (State.PYTHON_STOPPED, Grip.JUDGING), running),  # the grip stays
    ):
        with pytest.raises(AssertionError, match=name):
            check_transition(name, before, after)
