"""Says what became of a step when another stop came first: it goes on, or it is forgotten. Pure."""

from __future__ import annotations

from pathlib import PurePath

from ...model import NativeFrame, Reason
from .step import CONTINUE, Step

# Not signals: a program that has crashed goes nowhere, so nothing is to be said of its step.
_CUTTING = {Reason.BREAKPOINT, Reason.EXCEPTION, Reason.PAUSE}

# The other kinds are nouns as they are: the next, the step.
_NAMES = {"finish": "the step out"}


def cut_short(step: Step | None, left_to_debugpy: Step | None, reason: Reason, done: bool) -> str | None:
    """What to tell of the step at a stop of this ``reason``. None when the step is ``done`` with it, or there was
    none.

    ``left_to_debugpy`` is the step that debugpy ends later: that one goes on.
    """
    if done or reason not in _CUTTING:
        return None
    if left_to_debugpy is not None:
        return f"{described(left_to_debugpy)} is unfinished: continue completes it, another step forgets it"
    if step is not None and step.kind != CONTINUE:
        return f"{described(step)} is forgotten"
    return None


def described(step: Step) -> str:
    """The step for people, at a prompt and in an editor: ``the next from train.py:12``."""
    frame = step.origin or step.top
    what = _NAMES.get(step.kind, f"the {step.kind}")
    if frame is None:
        return what
    if frame.file is not None and frame.line is not None:
        return f"{what} from {PurePath(frame.file).name}:{frame.line}"
    where = frame.function if isinstance(frame, NativeFrame) else None
    return f"{what} from {where}" if where else what


def native_step_done(kind: str, left: NativeFrame, stack_pointer: int) -> bool:
    """Whether a native step would have ended at this other stop too, which is in its thread."""
    if left.sp is None or kind in ("stepi", "nexti"):
        return True
    if kind == "finish":
        return stack_pointer > left.sp
    return kind == "step" or stack_pointer >= left.sp


def python_step_done(kind: str, left: int, depth: int) -> bool:
    """The same for a step within Python. It left a stack of ``left`` Python frames; now there are ``depth``."""
    if kind == "finish":
        return depth < left
    return kind == "step" or depth <= left
