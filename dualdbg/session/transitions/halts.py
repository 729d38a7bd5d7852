"""Transitions of wishes: work of ours needs a halt for a moment, or the user wants a pause. Pure."""

from __future__ import annotations

from ...errors import CommandError, DualdbgError
from ...model import Notice, State
from ..effects import AnswerHalt, Effects, Halt, Release, Tell
from ..state import Grip, TargetState
from ..transition_table import transition
from .grip import answer_halts, give_halt, interrupt_for_wishes, let_run
from .native import DECIDED, decide_native


@transition()
def halt_wanted(state: TargetState, halt: Halt) -> Effects:
    """Work of ours needs the target to stand still for a moment."""
    if state.is_over or (state.is_mute and state.departure is None):
        return [AnswerHalt(halt, False)]
    state.halts.append(halt)
    return interrupt_for_wishes(state)


@transition(from_="* HALTED", to=DECIDED)
def halt_done(state: TargetState, halt: Halt) -> Effects:
    """The work is done, or was given up before the halt came."""
    if halt in state.halts:
        state.halts.remove(halt)
    if state.holder is not halt:
        return []
    state.holder = None
    if state.is_over:
        return []
    if state.grip is Grip.SHOWN:  # its work has met a stop, and frozen threads were parked meanwhile
        return [Release()]
    if state.grip is not Grip.HALTED:
        return []
    if state.halts:
        return give_halt(state)
    if state.pause.natively and state.facts is not None:  # the user's pause waited for it
        state.grip = Grip.JUDGING
        return decide_native(state, state.facts)
    return let_run(state)


@transition()
def pause_wanted(state: TargetState) -> Effects:
    """Note that the user wants a stop. One that is about to be reported serves."""
    state.require(State.RUNNING)
    if state.prepared is not None:
        return []
    state.pause.natively = True
    return interrupt_for_wishes(state)


@transition()
def interrupt_failed(state: TargetState, error: DualdbgError) -> Effects:
    """gdb refused to interrupt the target. Whoever waits for that hears why."""
    state.interrupt_sent = False
    effects = answer_halts(state, error)
    if state.pause.natively and not state.is_over:
        state.pause.natively = False
        effects.append(Tell(Notice("error", error.message, error.hint)))
    return effects


@transition()
def pause_look_due(state: TargetState, epoch: int) -> Effects:
    """It is time to look how far debugpy's pause is.

    A thread that has left Python for a long call meets the pause when it comes back, and that may be too late.
    """
    if epoch != state.epoch or not state.pause.in_python or state.phase is not State.RUNNING:
        return []
    state.pause.looks += 1
    state.pause.natively = True
    return interrupt_for_wishes(state)


@transition()
def pause_refused(state: TargetState, error: CommandError) -> Effects:
    """debugpy refused to pause the program. gdb does it."""
    if not state.pause.in_python or state.phase is not State.RUNNING:
        return []
    state.pause_owed = state.pause.in_python = False
    state.pause.natively = state.pause.refused = True
    return interrupt_for_wishes(state)
