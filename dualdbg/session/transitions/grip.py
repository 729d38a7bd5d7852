"""What gdb does next with the target: it halts it for work of ours, lets it run, or interrupts it. Pure."""

from __future__ import annotations

from ...errors import DualdbgError
from ...model import Resumed
from ..effects import AnswerHalt, Effects, Interrupt, Resume, Tell
from ..state import Grip, TargetState
from .python import next_python_stop


def let_run(state: TargetState) -> Effects:
    """Nobody needs the target to stand still. It gets the SIGINT that it is owed."""
    state.grip = Grip.FREE
    signal, state.signal_owed = state.signal_owed, False
    again = (
        (state.again, state.step.gdb_thread) if state.again is not None and state.step is not None else None
    )
    state.again, state.gdb_steps = None, again is not None  # each stop ends gdb's own step
    return [Resume(signal, again=again), *interrupt_for_wishes(state), *next_python_stop(state)]


def interrupt_for_wishes(state: TargetState) -> Effects:
    """gdb is asked to interrupt the running target if somebody wants it to stand still: once for all who do."""
    if state.grip is not Grip.FREE or state.interrupt_sent or not (state.halts or state.pause.natively):
        return []
    state.interrupt_sent = True
    return [Interrupt()]


def give_halt(state: TargetState) -> Effects:
    """The oldest halt that was asked for begins."""
    state.holder = state.halts.pop(0)
    state.grip = Grip.HALTED
    return [AnswerHalt(state.holder, True)]


def answer_halts(state: TargetState, outcome: bool | DualdbgError) -> Effects:
    """All who wait for a halt get this answer."""
    waiting, state.halts = state.halts, []
    return [AnswerHalt(halt, outcome) for halt in waiting]


def depart(state: TargetState) -> Effects:
    """gdb has let go of a stop that the user left, if there was one: that is told now."""
    if state.departure is None:
        return []
    state.departure = state.native = None
    state.grip = Grip.FREE
    return [Tell(Resumed(state.epoch))]
