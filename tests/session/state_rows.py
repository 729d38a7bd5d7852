"""States and stops with which the rows of the table of states begin. Pure."""

from __future__ import annotations

from dataclasses import replace

from dualdbg.backends.events import NativeStopped, PythonCause, PythonStopped, StopCause
from dualdbg.model import Thread
from dualdbg.session.effects import (
    Effect,
    Effects,
    PrepareNative,
    PreparePython,
    ReadNative,
    ReadPython,
    Tell,
)
from dualdbg.session.state import TargetState
from dualdbg.session.stepping.step import Step
from dualdbg.session.stops.facts import Need, Picture, PythonHold, PythonPosition, Sender
from dualdbg.session.transitions.beginning import begin
from dualdbg.session.transitions.native import native_fact_read, native_stopped
from dualdbg.session.transitions.python import (
    python_hits_read,
    python_position_read,
    python_stopped,
)

PID = 10
THREAD = Thread(PID, "python")
PICTURE = Picture(THREAD, None)
HIT = NativeStopped(StopCause.BREAKPOINT, PID, 1, 0x100, 7)
SIGINT = NativeStopped(StopCause.SIGNAL, PID, 1, 0x100, signal="SIGINT")
STEPPED = NativeStopped(StopCause.STEPPED, PID, 1, 0x100)
INTERRUPTED = NativeStopped(StopCause.INTERRUPTED, PID, 1, 0x100, signal="SIGURG")
LIBRARY = NativeStopped(StopCause.LIBRARIES, PID, 1)
STEP = Step("next", PID, 1)
PYTHON = PythonStopped(PythonCause.BREAKPOINT, 1, breakpoints=(0,))
POSITION = PythonPosition(PID, (), 1, None)


def running() -> TargetState:
    state = TargetState(PID, lambda: 1.0)
    begin(state)
    return state


def one(effects: Effects, kind: type) -> Effect:
    found = [effect for effect in effects if isinstance(effect, kind)]
    assert len(found) == 1, effects
    return found[0]


def told(effects: Effects) -> list[object]:
    return [effect.event for effect in effects if isinstance(effect, Tell)]


def hit(state: TargetState) -> PrepareNative:
    """One of the user's native breakpoints, up to the point where it is prepared."""
    need = one(native_stopped(state, HIT), ReadNative)
    assert isinstance(need, ReadNative) and need.need is Need.STEP
    need = one(native_fact_read(state, replace(need.facts, ends_step=None)), ReadNative)
    assert isinstance(need, ReadNative) and need.need is Need.BREAKPOINTS
    need = one(native_fact_read(state, replace(need.facts, met=((1,), None))), ReadNative)
    assert isinstance(need, ReadNative) and need.need is Need.THREAD
    prepare = one(native_fact_read(state, replace(need.facts, thread=(1, PID))), PrepareNative)
    assert isinstance(prepare, PrepareNative)
    return prepare


def decided(state: TargetState) -> PythonHold:
    """One of the user's Python breakpoints, up to the point where it is prepared."""
    read = one(python_stopped(state, PYTHON), ReadPython)
    assert isinstance(read, ReadPython) and read.need is Need.POSITION
    assert one(python_position_read(state, read.hold, POSITION), ReadPython) == ReadPython(
        read.hold, Need.MET
    )
    effects = python_hits_read(state, read.hold, ((2,), None))
    assert isinstance(one(effects, PreparePython), PreparePython)
    return read.hold


def interrupted(state: TargetState) -> Effects:
    _, *effects = native_stopped(state, INTERRUPTED)  # the first says that the loop has met it
    return effects


def sigint(state: TargetState, sender: Sender) -> Effects:
    need = one(native_stopped(state, SIGINT), ReadNative)
    assert isinstance(need, ReadNative) and need.need is Need.SENDER
    return native_fact_read(state, replace(need.facts, sender=sender))
