"""Python expressions at a native stop: run in the stopped thread, but only where that is sound.

Sound is a thread that holds the GIL and stands at a line of the user's own native code, or at the entry of a function
that Python called: there native code may call Python anyway. Nothing is run after a crash.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..errors import CommandError, EvaluationError
from ..model import Language, NativeFrame, PythonFrame, Reason, Role, State, Value

if TYPE_CHECKING:
    from .session import Session

LIMIT = 5.0  # seconds for the Python code of an expression
_ANSWER_DEADLINE = 3600.0  # native code that it calls cannot be ended


class NotSound(EvaluationError):
    """Nothing was run; the message says why not."""


async def evaluate(
    session: Session, expression: str, tid: int, frame: PythonFrame | None, limit: float = LIMIT
) -> Value:
    """The value of ``expression`` in a Python frame of a thread (its innermost one by default).

    The other threads run while it does, and no breakpoint stops. Raises NotSound, or EvaluationError with the
    exception that the expression raised.
    """
    session.require(State.NATIVE_STOPPED)
    stack = await session.inspector.stack(tid)
    visible = stack.visible()
    top = visible[0] if visible else None
    await check_sound(session, tid, top if isinstance(top, NativeFrame) else None)
    frame = frame or next((one for one in visible if isinstance(one, PythonFrame)), None)
    if frame is None:
        raise NotSound("this thread has no Python frame to evaluate in", "threads lists them")
    request = {"text": expression, "limit": limit, "file": frame.file, "line": frame.line}
    argument = json.dumps({**request, "function": frame.function})
    number = await session.inspector.gdb_thread(tid)
    try:
        text = await session.stepper.crossing.probe_text(number, "evaluate", argument, _ANSWER_DEADLINE)
    except CommandError as error:
        raise EvaluationError(error.message, error.hint) from error
    answer = json.loads(text)
    if "error" in answer:
        raise EvaluationError(answer["error"])
    return Value(expression, answer["type"], answer["value"], Language.PYTHON)


async def check_sound(session: Session, tid: int, top: NativeFrame | None) -> None:
    """Raises NotSound where Python code cannot be run in a thread whose innermost shown frame is ``top``."""
    stop = session.stop
    instead = "print NAME and locals read from memory; continue to a Python stop to evaluate"
    if stop is not None and stop.reason is Reason.SIGNAL:
        raise NotSound("nothing is run in a program that a signal stopped: its state may be broken", instead)
    if not await session.inspector.holds_gil(tid):
        raise NotSound(f"thread {tid} does not hold the GIL, so it cannot run Python code here", instead)
    crossing = session.stepper.crossing
    if top is None or top.level != 0:
        raise NotSound("the thread is inside the interpreter, where Python code cannot be run", instead)
    if not (top.role is Role.USER and top.line is not None) and not crossing.is_entry(top.pc):
        raise NotSound(
            "the thread stands in the middle of native code without debug info, where Python code cannot be run",
            instead,
        )
    if session.python is None or not session.python.connected:
        raise NotSound("debugpy is not in the target, whose code is needed to evaluate", instead)
