"""Transitions of going on: the user leaves a stop, and the engine agrees or refuses. Pure."""

from __future__ import annotations

from ...backends import python as debugpy
from ...errors import CommandError, WrongState
from ...model import Notice, Resumed, State
from ..effects import AfterStop, Answered, BeforeRun, Effects, Forget, Post, Tell
from ..state import Departure, Grip, Left, Pause, TargetState
from ..stepping.step import Step
from ..transition_table import transition
from .grip import answer_halts, depart, interrupt_for_wishes
from .python import next_python_stop


@transition(from_="NATIVE_STOPPED SHOWN", to="RUNNING SHOWN")
def leave_natively(
    state: TargetState, step: Step | None, gdb_steps: bool, debugpy_steps: bool | None, with_signal: bool
) -> Effects:
    """The user goes on from a native stop. gdb has not let go yet.

    ``gdb_steps``: gdb ends the step by itself. ``debugpy_steps``: whether debugpy was armed to end it; None leaves
    debugpy with the step that it had before. ``with_signal``: the program gets the SIGINT that is owed to it.

    Raises WrongState when a call in the program that the user asked for has met another stop, which is not told yet.
    """
    state.require(State.NATIVE_STOPPED)
    if state.grip is not Grip.SHOWN:
        raise WrongState("another native stop came first", "look at the new stop")
    state.signal_owed = state.signal_owed and not with_signal
    assert state.stop is not None
    state.departure = Departure(state.epoch, state.stop, state.native)
    state.leave()
    state.step, state.gdb_steps = step, gdb_steps
    if debugpy_steps is not None:
        state.debugpy_step = step if debugpy_steps else None
    return [BeforeRun(), Forget()]


@transition(from_="RUNNING SHOWN", to="RUNNING FREE, PYTHON_STOPPED FREE")
def departed(state: TargetState) -> Effects:
    """gdb has let go. This may be read after gdb's next stop, and changes nothing then."""
    if state.departure is None:
        return []
    return [*depart(state), *interrupt_for_wishes(state), *next_python_stop(state)]


@transition(from_="RUNNING SHOWN", to="NATIVE_STOPPED SHOWN")
def native_refused(state: TargetState) -> Effects:
    """gdb did not let go. The stop is shown as before."""
    departure, state.departure = state.departure, None
    if departure is None or state.is_over:
        return []
    state.phase, state.epoch = State.NATIVE_STOPPED, departure.epoch
    state.stop, state.native = departure.stop, departure.native
    state.settle(True)
    return [*answer_halts(state, False), AfterStop()]


@transition(from_="PYTHON_STOPPED FREE|JUDGING|HALTED", to="RUNNING =")
def leave_in_python(
    state: TargetState,
    command: str,
    thread: int | None = None,
    target: int | None = None,
    step: Step | None = None,
    answered: Answered | None = None,
) -> Effects:
    """The user goes on from a Python stop. ``command`` is debugpy's request, ``thread`` and ``target`` its arguments.

    ``answered`` is called with what debugpy says against it, or None; nobody else hears that the stop was left before
    debugpy has agreed. Raises WrongState when a native stop came first.
    """
    state.require(State.PYTHON_STOPPED)
    if state.is_mute:
        raise WrongState("a native stop came first", "look at the new stop")
    if not state.python_holds:
        raise CommandError("debugpy holds no thread", "pause the target first")
    left_stop = state.stop
    assert left_stop is not None
    thread = next(iter(state.python_holds)) if thread is None else thread
    holds = dict(state.python_holds)
    state.python_holds.clear()
    state.leave()
    state.left = Left(state.epoch, holds, step, left_stop if answered is not None else None)
    state.step, state.gdb_steps = step, False
    if step is not None:
        state.debugpy_step = step
    post = Post(debugpy.move(command, thread, target), state.epoch, answered=answered)
    told: Effects = [Forget(), Tell(Resumed(state.epoch))] if answered is None else []
    return [BeforeRun(), *told, post]


@transition()
def python_agreed(state: TargetState, epoch: int) -> Effects:
    """debugpy goes on as it was asked to. That is told, where it has not been yet."""
    return state.tell_left() if state.left is not None and state.left.epoch == epoch else []


@transition(from_="RUNNING FREE", to="PYTHON_STOPPED FREE")
def python_refused(state: TargetState, epoch: int, command: str, error: CommandError) -> Effects:
    """debugpy did not let go. It holds its threads as before, and they are shown in their turn."""
    left = state.left
    if left is None or left.epoch != epoch or state.is_over:
        return []
    told = (
        state.tell_left() if left.untold is None or state.python_holds or not _stands(state, epoch) else None
    )
    state.left = None
    if state.step is left.step:  # no command of a later native stop
        state.settle(False)
    if state.debugpy_step is left.step:
        state.debugpy_step = None
    state.python_holds = {**left.python_holds, **state.python_holds}
    if told is None:
        state.phase, state.stop, state.epoch = State.PYTHON_STOPPED, left.untold, epoch - 1
        return [AfterStop()]
    notice = Tell(Notice("error", f"{command} was refused: {error.message}", error.hint))
    return [*told, notice, *next_python_stop(state)]


def _stands(state: TargetState, epoch: int) -> bool:
    """Whether nothing has happened since debugpy was asked to go on, and nobody waits for a stop."""
    wanted = state.pause != Pause() or state.pause_owed or state.halts
    return not wanted and (state.phase, state.grip, state.epoch) == (State.RUNNING, Grip.FREE, epoch)


@transition()
def step_forgotten(state: TargetState) -> Effects:
    """A thread that was to do something on its way has done it. No step is under way any more."""
    state.settle(False)
    return []
