"""Transitions of a beginning: a program is launched, or gdb takes hold of a process that was running. Pure."""

from __future__ import annotations

from ...model import Language, Reason, State
from ..effects import Effects, Halt, Resume
from ..state import Grip, TargetState
from ..stops.facts import NativeFacts, NativeHold, Picture, Show
from ..transition_table import transition
from .grip import answer_halts


@transition(from_="STARTING *", to="RUNNING FREE")
def begin(state: TargetState) -> Effects:
    """The target is ready to run its program, unless it has ended before."""
    if state.phase is State.STARTING:
        state.phase = State.RUNNING
    return []


@transition()
def expect_entry(state: TargetState) -> Effects:
    """The program's first line is to be a stop."""
    state.entry_expected = True
    return []


@transition()
def take_interrupts(state: TargetState, wanted: bool) -> Effects:
    """Whether Ctrl-C in the target's terminal is meant for us."""
    state.interrupt_pauses = wanted
    return []


@transition(from_="STARTING *", to="RUNNING SHOWN")
def attached(state: TargetState, hold: NativeHold) -> Effects:
    """Take the process that gdb holds as stopped; the stop is reported when everything is ready."""
    if state.phase is not State.STARTING:  # it has ended, or gdb has
        return []
    state.phase, state.grip, state.native = State.RUNNING, Grip.SHOWN, hold
    state.facts = NativeFacts(hold.event)
    state.epoch += 1
    return []


@transition(from_="RUNNING SHOWN", to="NATIVE_STOPPED SHOWN")
def attach_ready(state: TargetState, picture: Picture, reason: Reason, description: str) -> Effects:
    """The first stop is known, and commands may be given. :func:`tell_attached` tells it."""
    if not _is_held(state):
        return []
    state.phase = State.NATIVE_STOPPED
    state.stop = state.stop_of(Language.NATIVE, Show(reason, (), description), picture)
    return []


@transition(from_="RUNNING SHOWN", to="RUNNING FREE")
def run_for_a_moment(state: TargetState) -> Effects:
    """Let the process that is being attached to run until :func:`keep_held`, unreported."""
    if not _is_held(state):
        return []
    state.grip, state.native = Grip.FREE, None
    return [Resume()]


def _is_held(state: TargetState) -> bool:
    """Whether gdb still holds the process that is being attached to: it may have been killed meanwhile."""
    return state.phase is State.RUNNING and state.grip is Grip.SHOWN


@transition(from_="* HALTED", to="= SHOWN")
def keep_held(state: TargetState, halt: Halt, hold: NativeHold | None) -> Effects:
    """The halt that ended :func:`run_for_a_moment` lasts: gdb holds the process for the user again, as before."""
    if state.holder is halt:
        state.holder = None
        state.grip, state.native = Grip.SHOWN, hold
        return answer_halts(state, False)
    return []


@transition()
def tell_attached(state: TargetState, epoch: int) -> Effects:
    """Report the first stop after an attach, which had this ``epoch``, unless it is over already."""
    if state.epoch != epoch or state.phase is not State.NATIVE_STOPPED or state.stop is None:
        return []
    return state.enter(State.NATIVE_STOPPED, state.stop)
