"""Transitions of a Python stop: the held threads are classified and shown one after the other. Pure."""

from __future__ import annotations

from ...backends import events as engine
from ...backends import python as debugpy
from ...model import Language, Reason, State
from ..effects import Effects, Forget, Post, PreparePython, ReadPython
from ..state import Grip, TargetState
from ..stepping.unfinished import cut_short, python_step_done
from ..stops.classifier import classify_python
from ..stops.facts import Met, Need, Picture, PythonHold, PythonPosition, Show
from ..transition_table import transition

# Another thread that debugpy holds may have its turn then, or this one.
TURN = {"from_": "RUNNING FREE", "to": "PYTHON_STOPPED FREE"}


@transition(**TURN)
def python_stopped(state: TargetState, event: engine.PythonStopped) -> Effects:
    """debugpy holds a thread. It waits for its turn."""
    if state.is_over:
        return []
    state.python_holds[event.debugpy_thread] = PythonHold(event)
    return next_python_stop(state)


@transition()
def python_continued(state: TargetState, event: engine.PythonContinued) -> Effects:
    """debugpy has let go of a thread."""
    if event.debugpy_thread is not None:
        state.python_holds.pop(event.debugpy_thread, None)
    return []


@transition(**TURN)
def python_position_read(state: TargetState, hold: PythonHold, place: PythonPosition) -> Effects:
    """Where debugpy holds the thread is known."""
    hold.tid, hold.frames, hold.depth, hold.top = place.tid, place.frames, place.depth, place.top
    hold.removed, hold.read = place.removed, True
    return _python_fact_read(state, hold)


@transition(**TURN)
def python_hits_read(state: TargetState, hold: PythonHold, met: Met | None) -> Effects:
    """Which of the user's breakpoints the thread has met is known; None for an exception that nobody asked for."""
    hold.met = met
    return _python_fact_read(state, hold)


@transition(**TURN)
def python_leaving_read(state: TargetState, hold: PythonHold, leaving: bool) -> Effects:
    """Whether native code that is called here has its turn first is known."""
    hold.leaving = leaving
    return _python_fact_read(state, hold)


def _python_fact_read(state: TargetState, hold: PythonHold) -> Effects:
    if not _is_read(state, hold):
        return next_python_stop(state)
    if state.is_mute:  # it is decided when gdb has let go
        state.reading = None
        return []
    return _decide_python(state, hold)


@transition(**TURN)
def python_unread(state: TargetState, hold: PythonHold, gone: bool) -> Effects:
    """The stop could not be read: a native stop came first. ``gone``: debugpy does not hold the thread any more."""
    if state.reading is hold:
        state.reading = None
    if gone and state.python_holds.get(hold.event.debugpy_thread) is hold:
        del state.python_holds[hold.event.debugpy_thread]
    return next_python_stop(state)


@transition(**TURN)
def python_unjudged(state: TargetState, hold: PythonHold) -> Effects:
    """Show a stop as it is if what it means could not be worked out; the user has been given the reason."""
    if not _is_read(state, hold):
        return next_python_stop(state)
    if state.is_mute:  # it is read again when gdb has let go
        state.reading = None
        return []
    return _show_python(state, hold, Show(Reason.PAUSE, ()))


@transition(**TURN)
def python_ready(state: TargetState, hold: PythonHold, picture: Picture) -> Effects:
    """Report a Python stop that was read, now or when gdb has let go."""
    if not _is_read(state, hold):
        return next_python_stop(state)
    state.reading = None
    hold.picture = picture
    if state.phase is not State.RUNNING or state.grip is not Grip.FREE or hold.verdict is None:
        return []
    return _enter_python(state, hold, hold.verdict, picture)


@transition()
def library_passed_over(state: TargetState) -> Effects:
    """debugpy has stepped over code of a library. It is told when the step ends: with any other stop it is no news."""
    state.passed_over = True
    return []


@transition()
def answer_owed(state: TargetState) -> Effects:
    """A native stop came before debugpy's answer to a request. The answer comes when the target runs again."""
    state.owed += 1
    return []


@transition(**TURN)
def answer_came(state: TargetState) -> Effects:
    """debugpy has given an answer that it owed."""
    state.owed -= 1
    return next_python_stop(state)


def next_python_stop(state: TargetState) -> Effects:
    """The oldest thread that debugpy holds has its turn, unless gdb holds the target."""
    if state.phase is not State.RUNNING or state.grip is not Grip.FREE or state.reading is not None:
        return []
    hold = next(iter(state.python_holds.values()), None)
    if hold is None:
        return []
    if hold.shown:
        if state.owed:  # an expression of the user still runs in it; its answer leads here again
            return []
        hold.read = False  # frames may have changed since
    elif hold.verdict is not None and hold.picture is not None:
        return _enter_python(state, hold, hold.verdict, hold.picture)
    state.reading = hold
    return _decide_python(state, hold)


def _is_read(state: TargetState, hold: PythonHold) -> bool:
    """Whether debugpy still holds the thread that was read about."""
    held = state.python_holds.get(hold.event.debugpy_thread) is hold and not state.is_over
    if not held and state.reading is hold:
        state.reading = None
    return held


def _decide_python(state: TargetState, hold: PythonHold) -> Effects:
    """Classify the stop. Where a fact is missing it is read, and this is asked again."""
    verdict = classify_python(hold, state.situation())
    if isinstance(verdict, Need):
        return [ReadPython(hold, verdict)]
    if isinstance(verdict, Show):
        return _show_python(state, hold, verdict)
    _met(state, hold)
    state.reading = None
    state.leaving = verdict.step
    state.python_holds.clear()
    return [Post(debugpy.move(verdict.request, hold.event.debugpy_thread))]


def _met(state: TargetState, hold: PythonHold) -> None:
    """What was expected of debugpy has come."""
    state.entry_expected = False
    if hold.event.cause is engine.PythonCause.PAUSED:
        state.pause_owed = False


def _show_python(state: TargetState, hold: PythonHold, verdict: Show) -> Effects:
    _met(state, hold)
    state.leaving = None
    hold.verdict = verdict
    if hold.shown:
        return [PreparePython(hold, cancel_native=False)]
    gdb_steps, state.gdb_steps = state.gdb_steps, False
    return [PreparePython(hold, cancel_native=gdb_steps)]


def _enter_python(state: TargetState, hold: PythonHold, verdict: Show, picture: Picture) -> Effects:
    message = None
    if not hold.shown:
        step = state.step
        done = verdict.reason.ends_step
        if step is not None and not done and hold.tid == step.tid:
            natively = step.top is not None
            done = step.kind == "step" if natively else python_step_done(step.kind, step.depth, hold.depth)
        message = cut_short(step, None, verdict.reason, done)
        state.settle(True)
    hold.shown = True
    state.epoch += 1
    stop = state.stop_of(Language.PYTHON, verdict, picture)
    return [Forget(), *state.enter(State.PYTHON_STOPPED, stop, message)]
