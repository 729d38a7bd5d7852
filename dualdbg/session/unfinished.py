"""What became of a step when another stop came first: the user is told whether it goes on or is forgotten."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from ..model import NativeFrame, Notice, Reason

if TYPE_CHECKING:
    from .session import Session
    from .step import Step

# A program that a signal has crashed goes nowhere: what a step would have done is no news then.
_CUTTING = {Reason.BREAKPOINT, Reason.EXCEPTION, Reason.PAUSE}


class Unfinished:
    """The step that is to be told about, until the stop that cut it short is shown."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._open: str | None = None  # the step that debugpy still works on
        self._message: str | None = None

    def begun(self, step: Step) -> None:
        """The step was left to debugpy."""
        self._open = described(step)

    def cut_short(self, step: Step | None, reason: Reason, done: bool, goes_on: bool) -> None:
        """A stop came, and the step was ``done`` with it or not; ``goes_on``: debugpy ends it later."""
        self._message = None
        if done or reason not in _CUTTING:
            return
        if goes_on and self._open is not None:
            self._message = f"{self._open} is unfinished: continue completes it, another step forgets it"
        elif step is not None and step.kind != "continue":
            self._message = f"{described(step)} is forgotten"

    def tell(self) -> None:
        if self._message is not None:
            self._session.emit(Notice("info", self._message))
            self._message = None


def described(step: Step) -> str:
    """``the next from train.py:12``."""
    frame = step.origin or step.top
    if frame is None:
        return f"the {step.kind}"
    if frame.file is not None and frame.line is not None:
        return f"the {step.kind} from {PurePath(frame.file).name}:{frame.line}"
    where = frame.function if isinstance(frame, NativeFrame) else None
    return f"the {step.kind} from {where}" if where else f"the {step.kind}"


def native_step_done(kind: str, left: NativeFrame, stack_pointer: int) -> bool:
    """Whether a stop in the thread of a native step, at another breakpoint, is where the step would have ended too."""
    if left.sp is None or kind in ("stepi", "nexti"):
        return True
    if kind == "finish":
        return stack_pointer > left.sp
    return kind == "step" or stack_pointer >= left.sp


def python_step_done(kind: str, left: int, depth: int) -> bool:
    """The same for a step within Python that left a stack of ``left`` Python frames."""
    if kind == "finish":
        return depth < left
    return kind == "step" or depth <= left
