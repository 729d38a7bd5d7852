"""Transitions of an end: the target, gdb or debugpy is gone. Pure."""

from __future__ import annotations

from ...errors import DualdbgError, EngineError
from ...model import Detached, Exit, Exited, Notice, Resumed, State
from ..effects import (
    AfterStop,
    BeforeRun,
    Effects,
    EndTarget,
    Forget,
    MissDebugpy,
    Over,
    Repair,
    ReportUnbound,
    Resume,
    Tell,
)
from ..state import Grip, TargetState
from ..transition_table import transition
from .grip import answer_halts


@transition(
    from_="STARTING|RUNNING|PYTHON_STOPPED|NATIVE_STOPPED|LOST *",
    to="EXITED FREE, LOST FREE",
)
def exited(state: TargetState, exit: Exit) -> Effects:
    """The process has ended. It may be heard twice, and after gdb was lost."""
    if state.phase in (State.EXITED, State.DETACHED) or state.exit is not None:
        return []
    state.exit = exit
    lost = state.phase is State.LOST
    effects = _end(state, State.LOST if lost else State.EXITED)
    return [*effects, AfterStop(), ReportUnbound(), Tell(Exited(exit)), Over()]


@transition()
def kill_wanted(state: TargetState) -> Effects:
    """The user wants the target's end. How it has ended is heard as any other end is."""
    return [] if state.phase in (State.EXITED, State.DETACHED) else [EndTarget()]


@transition()
def letting_go(state: TargetState, begun: bool) -> Effects:
    """gdb begins to detach, or could not: the stops that it makes for that mean nothing."""
    state.letting_go = begun
    return []


@transition(from_="STARTING|RUNNING|PYTHON_STOPPED|NATIVE_STOPPED *", to="DETACHED FREE")
def detached(state: TargetState) -> Effects:
    """gdb and debugpy have let go of the target."""
    if state.is_over:
        return []
    return [*_end(state, State.DETACHED), Tell(Detached(state.pid)), Over()]


@transition(from_="* *", to="DETACHED FREE")
def post_mortem_over(state: TargetState) -> Effects:
    """The session on a core ends. There is no process to let go of."""
    return _end(state, State.DETACHED)


@transition(from_="STARTING|RUNNING|PYTHON_STOPPED|NATIVE_STOPPED *", to="LOST FREE")
def gdb_lost(state: TargetState, detail: str, launched: bool) -> Effects:
    """gdb is gone. A launched target ends with it; one that was attached to is repaired."""
    if state.is_over:
        return []
    effects = _end(state, State.LOST, EngineError(f"gdb is gone: {detail}"))
    if not launched:
        return [*effects, Repair(detail)]  # gdb may have left breakpoints, and the target runs already
    told = Notice("error", f"gdb is gone: {detail}; the target is ended with it", "")
    return [*effects, Tell(told), EndTarget()]


@transition()
def repaired(state: TargetState, detail: str) -> Effects:
    """What gdb had left in the target was taken out."""
    return [Tell(Notice("error", f"gdb is gone: {detail}", "attach again to go on")), Over()]


@transition(from_="* SHOWN", to="RUNNING FREE, = FREE")
def target_died(state: TargetState) -> Effects:
    """The process was killed while gdb holds it. gdb notices that only when it lets the target run."""
    if state.is_over or state.grip is not Grip.SHOWN:
        return []
    state.departure = state.prepared = state.native = state.holder = None
    effects: Effects = []
    if state.phase is State.NATIVE_STOPPED:
        state.epoch += 1
        state.phase, state.stop = State.RUNNING, None
        effects = [Forget(), Tell(Resumed(state.epoch))]
    state.grip = Grip.FREE
    return [*effects, Resume(dead=True)]


@transition()
def debugpy_lost(state: TargetState, detail: str) -> Effects:
    """debugpy's connection is closed. If the process has ended, that is heard in a moment."""
    return [] if state.is_over else [MissDebugpy(detail, state.programs)]


@transition(from_="PYTHON_STOPPED *", to="RUNNING =")
def debugpy_missed(state: TargetState, detail: str, programs: int) -> Effects:
    """The process has not ended: it goes on without debugpy, and the user is told.

    Where it runs another program by now, that has a debugpy of its own, or its user has heard why not.
    """
    if state.is_over or programs != state.programs:
        return []
    state.python_holds.clear()
    state.reading = None
    told = Notice(
        "warning",
        f"debugpy is gone from the target ({detail}); the program itself runs on",
        "native breakpoints, stacks and steps go on working",
    )
    effects: Effects = [Tell(told)]
    if state.phase is State.PYTHON_STOPPED:
        state.leave()
        effects += [BeforeRun(), Forget(), Tell(Resumed(state.epoch))]
    return effects


def _end(state: TargetState, phase: State, error: DualdbgError | None = None) -> Effects:
    """Nothing is held and nothing is under way any more. ``error`` is why nobody gets a halt."""
    effects = answer_halts(state, error or False)
    state.python_holds.clear()
    state.phase, state.stop, state.reading, state.departure = phase, None, None, None
    state.grip, state.native, state.facts, state.prepared = Grip.FREE, None, None, None
    return effects
