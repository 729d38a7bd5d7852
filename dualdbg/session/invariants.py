"""What holds between a transition's effects and the state that it leaves; the loop asserts it each time. Pure.

What holds in the state alone is in :meth:`TargetState.check`.
"""

from __future__ import annotations

from ..model import Language, Resumed, Stopped
from .effects import (
    AnswerHalt,
    Effects,
    Interrupt,
    Post,
    PrepareNative,
    PreparePython,
    ReadNative,
    ReadPython,
    Resume,
    Tell,
)
from .state import Grip, TargetState

_TO_DEBUGPY = (Post, ReadPython, PreparePython)
_TO_GDB = (Resume, Interrupt, ReadNative, PrepareNative)


def check_effects(state: TargetState, effects: Effects) -> None:
    """Raises AssertionError for an effect that the state contradicts: the grip says what may be asked of whom."""
    for one in effects:
        if isinstance(one, _TO_DEBUGPY):
            assert not state.is_mute, f"{one} is asked of a mute debugpy"
        if isinstance(one, (*_TO_DEBUGPY, *_TO_GDB)):
            assert not state.is_over, f"{one} after the end"
        if isinstance(one, ReadPython | PreparePython):
            assert state.reading is one.hold, f"{one} is not the one whose turn it is"
        elif isinstance(one, Resume):
            assert state.grip is Grip.FREE, f"{one}, and gdb {state.grip}"
        elif isinstance(one, Interrupt):
            assert state.interrupt_sent and state.grip is Grip.FREE, f"{one}, and gdb {state.grip}"
        elif isinstance(one, ReadNative):
            assert state.facts is one.facts and state.grip is Grip.JUDGING, f"{one}, and gdb {state.grip}"
        elif isinstance(one, PrepareNative):
            assert state.prepared is one and state.grip is Grip.SHOWN, f"{one}, and gdb {state.grip}"
        elif isinstance(one, AnswerHalt):
            _check_answer(state, one)
        elif isinstance(one, Tell) and isinstance(one.event, Stopped):
            assert one.event.stop is state.stop, f"{one} is told, and {state.stop} is shown"
            natively = one.event.stop.origin is Language.NATIVE
            assert state.grip is (Grip.SHOWN if natively else Grip.FREE), f"{one}, and gdb {state.grip}"
        elif isinstance(one, Tell) and isinstance(one.event, Resumed):
            assert one.event.epoch <= state.epoch, f"{one} is told at {state.epoch}"


def _check_answer(state: TargetState, answer: AnswerHalt) -> None:
    """A halt is answered once. It has come where the target stands for it."""
    assert answer.halt not in state.halts, f"{answer}, and it is wanted still"
    if answer.outcome is True:
        assert state.holder is answer.halt and state.grip is Grip.HALTED, f"{answer}, and gdb {state.grip}"
