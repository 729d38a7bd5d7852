"""Transitions of a native stop: it is classified, and then shown or passed over. Pure."""

from __future__ import annotations

from dataclasses import replace

from ...backends import events as engine
from ...backends import python as debugpy
from ...model import Language, Reason, Resumed, State, Thread
from ..effects import (
    BeforeRun,
    Effects,
    Forget,
    LookLater,
    Meet,
    Post,
    PrepareNative,
    ReadNative,
    Release,
    RenewDebugpy,
    Tell,
)
from ..state import PYTHON_PAUSE_LOOK, Grip, TargetState
from ..stepping.unfinished import cut_short
from ..stops.classifier import classify_native, is_owed
from ..stops.facts import NativeFacts, NativeHold, Need, PassOver, PauseInPython, Picture, Show
from ..transition_table import transition
from .grip import answer_halts, depart, give_halt, let_run

# Where decide_native may lead to; the program may have replaced itself meanwhile, or debugpy's stop have its turn.
DECIDED = "= JUDGING|HALTED|FREE|SHOWN, RUNNING JUDGING|HALTED|FREE|SHOWN, PYTHON_STOPPED FREE"


@transition(
    from_="STARTING|RUNNING|PYTHON_STOPPED|NATIVE_STOPPED *",
    to=DECIDED,
)
def native_stopped(state: TargetState, stop: engine.NativeStopped) -> Effects:
    """gdb has stopped every thread."""
    if state.is_over or state.letting_go:
        return []
    effects = depart(state)  # the target ran: that gdb had let go may be read only after this stop
    if state.phase is State.NATIVE_STOPPED or state.prepared is not None:
        effects.append(Forget())  # a call of the user's has met it, and is broken off there
    if stop.cause is engine.StopCause.EXEC:
        effects += _forget_python(state)
    state.grip = Grip.JUDGING
    state.interrupt_sent = False
    state.facts = NativeFacts(stop)
    return [*effects, Meet(state.facts), *decide_native(state, state.facts)]


def _forget_python(state: TargetState) -> Effects:
    """The process runs another program (exec). What debugpy held and did belonged to the earlier one."""
    state.programs += 1
    told = state.tell_left()
    state.python_holds.clear()
    state.reading = state.left = state.leaving = None
    state.entry_expected = state.pause_owed = False
    state.pause.natively = state.pause.natively or state.pause.in_python
    state.pause.in_python = state.pause.refused = False
    state.settle(True)
    effects: Effects = [*told, RenewDebugpy()]
    if state.phase is State.PYTHON_STOPPED:  # a thread that debugpy did not hold has done it
        state.leave()
        effects += [BeforeRun(), Tell(Resumed(state.epoch))]
    return [*effects, Forget()]


@transition(from_="* JUDGING", to=DECIDED)
def native_fact_read(state: TargetState, facts: NativeFacts) -> Effects:
    """``facts`` has one more than was known of the stop."""
    if not _is_current(state, facts) or state.grip is not Grip.JUDGING or state.is_over:
        return []
    state.facts = facts
    return decide_native(state, facts)


@transition(from_="RUNNING SHOWN", to="NATIVE_STOPPED SHOWN")
def native_ready(state: TargetState, prepared: PrepareNative, picture: Picture) -> Effects:
    """What is shown of a native stop was read: tell it. It ends the step under way, or cuts it short."""
    if state.prepared is not prepared or state.grip is not Grip.SHOWN:
        return []
    verdict = prepared.verdict
    done = verdict.reason.ends_step or picture.step_done
    message = cut_short(state.step, state.debugpy_step, verdict.reason, done)
    state.settle(done)
    stop = state.stop_of(Language.NATIVE, verdict, picture)
    return state.enter(State.NATIVE_STOPPED, stop, message)


@transition(from_="* JUDGING|SHOWN", to="NATIVE_STOPPED SHOWN")
def native_unjudged(state: TargetState, facts: NativeFacts, thread: Thread) -> Effects:
    """Show a stop as it is if what it means could not be worked out; the user has been given the reason."""
    if state.facts is not facts or state.is_over or state.grip not in (Grip.JUDGING, Grip.SHOWN):
        return []
    state.signal_owed = state.signal_owed or is_owed(facts, state.situation())
    state.grip = Grip.SHOWN
    state.native = NativeHold(facts.stop, thread.tid, facts.stop.gdb_thread or 1)
    state.epoch += 1
    effects = answer_halts(state, False)
    state.settle(False)
    show = Show(Reason.PAUSE, (), facts.stop.words or None)
    stop = state.stop_of(Language.NATIVE, show, Picture(thread, None))
    # Work of ours in whose middle it came may have parked them since they were released for it.
    return [*effects, Forget(), Release(), *state.enter(State.NATIVE_STOPPED, stop)]


@transition(from_="RUNNING|PYTHON_STOPPED FREE|SHOWN", to="NATIVE_STOPPED SHOWN, RUNNING FREE")
def resume_failed(state: TargetState, thread: Thread) -> Effects:
    """Show a stop if gdb could not let the target run; the user has been given the reason.

    gdb may have said before that it runs, and the user's departure from a stop be told or not.
    """
    left = depart(state) if not state.is_over else []
    if state.is_over or state.grip is not Grip.FREE or state.facts is None:
        return left
    state.interrupt_sent = False
    state.grip = Grip.JUDGING
    return [*left, *native_unjudged(state, state.facts, thread)]


def decide_native(state: TargetState, facts: NativeFacts) -> Effects:
    """Classify the stop. Where a fact is missing it is read, and this is asked again."""
    verdict = classify_native(facts, state.situation())
    if isinstance(verdict, Need):
        return [ReadNative(facts, verdict)]
    state.signal_owed = state.signal_owed or verdict.signal
    if isinstance(verdict, Show):
        return _show_natively(state, facts, verdict)
    if isinstance(verdict, PauseInPython):
        return _pause_in_python(state)
    if facts.again is not None:
        state.again = facts.again
    return _pass_over(state, verdict)


def _is_current(state: TargetState, facts: NativeFacts) -> bool:
    """Whether ``facts`` are about the last stop of gdb, and not about one before it."""
    return state.facts is not None and facts.stop is state.facts.stop


def _pass_over(state: TargetState, verdict: PassOver) -> Effects:
    state.pause.natively = state.pause.natively or verdict.pause
    if state.phase is State.NATIVE_STOPPED:  # only the user goes on from a stop that is shown
        state.grip = Grip.SHOWN
        return answer_halts(state, False)
    # It came in a call that the user asked for, before the stop that is to be shown was told.
    # What was read of that one is stale, and not told.
    if state.prepared is not None:
        facts = replace(state.prepared.facts)
        state.grip, state.facts, state.prepared = Grip.SHOWN, facts, replace(state.prepared, facts=facts)
        return [*answer_halts(state, False), state.prepared]
    if state.holder is not None:  # the stop came in the middle of work of ours
        state.grip = Grip.HALTED
        return []
    return give_halt(state) if state.halts else let_run(state)


def _show_natively(state: TargetState, facts: NativeFacts, verdict: Show) -> Effects:
    assert facts.thread is not None
    gdb_thread, tid = facts.thread
    effects = answer_halts(state, False)
    calm = verdict.reason is Reason.PAUSE
    state.grip = Grip.SHOWN
    matters = verdict.reason in (Reason.BREAKPOINT, Reason.SIGNAL)
    state.native = NativeHold(facts.stop, tid, gdb_thread, matters)
    state.epoch += 1
    if state.stop is not None:  # a Python stop that is overtaken, or a native one during which gdb ran a call
        state.phase, state.stop = State.RUNNING, None
    state.prepared = PrepareNative(facts, state.native, verdict, state.epoch, state.step)
    return [*effects, Forget(as_read_now=not calm), state.prepared]


def _pause_in_python(state: TargetState) -> Effects:
    """debugpy makes the stop that the user wants. gdb looks later how far that is."""
    effects: Effects = []
    if not state.pause.in_python:
        state.pause.in_python = state.pause_owed = True
        effects.append(Post(debugpy.pause_all(), pause=True))
    state.pause.natively = False
    return [*effects, *let_run(state), LookLater(state.epoch, PYTHON_PAUSE_LOOK)]
