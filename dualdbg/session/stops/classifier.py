"""Decides what a stop means, from facts that were read before: for the user, for a step, or for nobody. Pure.

Each function returns a decision, or the fact that it needs first. A fact costs a request to an engine, so they are
asked for one after the other, and the loop decides again when one is there.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...backends.events import PythonCause, StopCause
from ...model import Reason
from ..stepping.step import Step
from ..stepping.step_frames import is_not_below
from .facts import (
    UNREAD,
    GoOn,
    NativeFacts,
    NativeVerdict,
    Need,
    PassOver,
    PauseInPython,
    PythonHold,
    PythonVerdict,
    Sender,
    Show,
)

PYTHON_PAUSE_LOOKS = 10  # how often gdb looks whether a program that debugpy was to pause has left Python

_INTERNAL = {StopCause.LIBRARIES: Need.LIBRARIES, StopCause.EXEC: Need.PROGRAM}
_HIT_CAUSES = {StopCause.BREAKPOINT, StopCause.WATCHPOINT, StopCause.WATCHPOINT_GONE}
_STEP_CAUSES = {StopCause.STEPPED, StopCause.RETURNED, StopCause.LOCATION_REACHED}
_PYTHON_REASONS = {
    PythonCause.BREAKPOINT: Reason.BREAKPOINT,
    PythonCause.FUNCTION: Reason.BREAKPOINT,
    PythonCause.STEPPED: Reason.STEP,
    PythonCause.MOVED: Reason.GOTO,
    PythonCause.PAUSED: Reason.PAUSE,
    PythonCause.EXCEPTION: Reason.EXCEPTION,
    PythonCause.ENTRY: Reason.ENTRY,
    PythonCause.OTHER: Reason.BREAKPOINT,
}


@dataclass(frozen=True)
class Situation:
    """What a decision depends on, besides the facts of the stop.

    ``halting``: work of our own needs the target to stand still, or waits for that; ``pausing``: the user waits for
    it. ``shown``: gdb shows a stop, or is to. ``python_holds``: debugpy holds a thread. ``paused_in_python``: debugpy
    makes the pause that the user wants, and ``looks`` times gdb has looked how far it is; ``pause_refused``: debugpy
    does not make it; ``pause_owed``: debugpy was asked, and has not stopped for it yet. ``interrupt_pauses``: Ctrl-C
    in the target's terminal is meant for us. ``leaving``: the step that goes on after an exception, and leaves first
    what it had called.
    """

    halting: bool = False
    pausing: bool = False
    shown: bool = False
    python_holds: bool = False
    paused_in_python: bool = False
    pause_refused: bool = False
    pause_owed: bool = False
    looks: int = 0
    interrupt_pauses: bool = True
    entry_expected: bool = False
    step: Step | None = None
    debugpy_steps: bool = False
    leaving: Step | None = None


# -- native stops ---------------------------------------------------------------------------------


def classify_native(facts: NativeFacts, now: Situation) -> NativeVerdict | Need:
    """What a native stop means."""
    verdict = _meaning(facts, now)
    if isinstance(verdict, PassOver) and now.pausing and not now.halting and not now.shown:
        # The target is not interrupted when it has just stopped by itself.
        verdict = Show(Reason.PAUSE, signal=verdict.signal)
    if isinstance(verdict, Show) and verdict.reason is Reason.PAUSE:
        if facts.can_pause is UNREAD:
            return Need.PAUSE
        if _pauses_in_python(facts.can_pause, now):
            return PauseInPython(verdict.signal)
    if isinstance(verdict, Show) and facts.thread is None:
        return Need.THREAD
    return verdict


def _meaning(facts: NativeFacts, now: Situation) -> NativeVerdict | Need:
    stop = facts.stop
    if stop.cause in _INTERNAL:
        return PassOver() if facts.done else _INTERNAL[stop.cause]
    if stop.cause is StopCause.INTERRUPTED:
        return PassOver()  # it has served its purpose, or another stop has made it needless
    if stop.cause is StopCause.SIGNAL and stop.signal == "SIGINT":
        return _interrupt(facts, now)
    if facts.ends_step is UNREAD:
        return Need.STEP
    if facts.ends_step is not None:
        moved = now.step is not None and now.step.kind == "goto"
        reason = Reason.GOTO if moved else Reason.STEP
        return Show(reason) if facts.ends_step else PassOver()
    if stop.cause in _HIT_CAUSES:
        if facts.met is UNREAD:
            return Need.BREAKPOINTS
        return _show_met(Reason.SIGNAL if facts.is_report else Reason.BREAKPOINT, facts)
    if stop.cause in _STEP_CAUSES:
        return Show(Reason.STEP)
    if stop.cause is StopCause.SIGNAL and stop.signal != "0":
        if facts.met is UNREAD:
            return Need.SIGNAL
        owners, description = facts.met
        if facts.asked and not owners:
            return PassOver()
        where = f" at address {facts.fault:#x}" if facts.fault is not None else ""
        return Show(Reason.SIGNAL, owners, description or f"{stop.signal}, {stop.signal_meaning}{where}")
    if stop.cause is StopCause.OTHER:  # what the user has had gdb catch, such as a fork
        return Show(Reason.BREAKPOINT, (), stop.words or None)
    return Show(Reason.PAUSE, (), None if stop.signal == "0" else stop.words or None)


def _interrupt(facts: NativeFacts, now: Situation) -> NativeVerdict | Need:
    """A SIGINT: the terminal sends it for Ctrl-C, other processes for the program itself."""
    if facts.sender is UNREAD:
        return Need.SENDER
    if is_owed(facts, now):
        return PassOver(signal=True)
    return PassOver(pause=True) if now.halting else Show(Reason.PAUSE)


def is_owed(facts: NativeFacts, now: Situation) -> bool:
    """Whether the stop is a SIGINT that the program is to get, because it is known not to be a Ctrl-C for us."""
    if facts.stop.signal != "SIGINT" or facts.stop.cause is not StopCause.SIGNAL:
        return False
    return facts.sender is Sender.OTHER or (facts.sender is Sender.TERMINAL and not now.interrupt_pauses)


def _show_met(reason: Reason, facts: NativeFacts) -> NativeVerdict:
    assert isinstance(facts.met, tuple)
    owners, description = facts.met
    return Show(reason, owners, description) if owners or description is not None else PassOver()


def _pauses_in_python(can_pause: bool, now: Situation) -> bool:
    """Whether debugpy makes the pause that the user wants. Where debugpy takes too long, gdb makes it."""
    if now.shown or now.pause_refused:
        return False
    if now.python_holds:
        return now.paused_in_python
    return can_pause and now.looks < PYTHON_PAUSE_LOOKS


# -- Python stops ---------------------------------------------------------------------------------


def classify_python(hold: PythonHold, now: Situation) -> PythonVerdict | Need:
    """What a Python stop means."""
    if not hold.read:
        return Need.POSITION
    if hold.shown:
        return Show(Reason.PAUSE, (), "back where Python had stopped")
    stepped = hold.event.cause is PythonCause.STEPPED
    if stepped and now.leaving is not None and _is_on_the_way(hold, now.leaving):
        return _towards(hold, now.leaving)
    if stepped and _repeats(hold, now.step):
        return GoOn("next")
    reason = Reason.ENTRY
    if not now.entry_expected or hold.event.cause is PythonCause.BREAKPOINT:
        if hold.event.cause is PythonCause.PAUSED and now.pause_owed and not now.paused_in_python:
            return GoOn("continue")  # another stop has served the user's pause
        if hold.removed or (stepped and not now.debugpy_steps):
            return GoOn("continue")
        reason = Reason.PAUSE if now.paused_in_python else _python_reason(hold)
    if stepped and now.step is not None and now.step.origin is not None and hold.depth < now.step.depth:
        if hold.leaving is UNREAD:
            return Need.LEAVING
        if hold.leaving:
            # debugpy stops on the caller's line while the function is only about to be left. The native code that
            # called it has its turn first, and the step ends there.
            return GoOn("continue")
    if hold.met is UNREAD:
        return Need.MET
    if hold.met is None:
        # Nobody asked for this exception. A step under way goes on, and leaves what it has called.
        step = now.step if now.debugpy_steps else None
        return _towards(hold, step) if step is not None else GoOn("continue")
    owners, description = hold.met
    return Show(reason, owners, description)


def _python_reason(hold: PythonHold) -> Reason:
    return _PYTHON_REASONS[hold.event.cause]


def _towards(hold: PythonHold, step: Step) -> GoOn:
    return GoOn("stepOut" if hold.depth > step.depth else step.request, step)


def _is_on_the_way(hold: PythonHold, step: Step) -> bool:
    """Whether the step is still in what it had called, or is just back on the line that made the call."""
    there = step.origin is not None and hold.top is not None and hold.top.line == step.origin.line
    return hold.depth > step.depth or (hold.depth == step.depth and there)


def _repeats(hold: PythonHold, step: Step | None) -> bool:
    """Whether a step of ``until`` goes on: debugpy stopped in the frame that was left, but not below the line."""
    if step is None or step.kind != "until" or step.origin is None:
        return False
    same = hold.tid == step.tid and hold.depth == step.depth and hold.top is not None
    return same and is_not_below(hold.top, step.origin)
