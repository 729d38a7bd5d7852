"""Python expressions at a native stop: they run in the stopped thread, but only where that is sound.

It is sound in a thread that holds the GIL and stands at a line of the user's own native code, or at the entry of a
function that Python called: there, native code may call Python anyway. Nothing is run after a crash, nor within the C
library, whether or not that has debug info: what is run would wait for ever for a lock that its caller holds.
"""

from __future__ import annotations

import json
from typing import Protocol

from ...errors import CommandError, EvaluationError
from ...model import Language, NativeFrame, PythonFrame, Reason, Role, State, Stop, Value
from ...shared.libraries import is_c_library
from ...system.patience import patient
from ..ports import Stacks

LIMIT = patient(5.0)  # seconds for the Python code of an expression
_ANSWER_DEADLINE = patient(3600.0)  # seconds; native code that an expression calls cannot be ended


class NotSound(EvaluationError):
    """Nothing was run. The message says why."""


class Entries(Protocol):
    """Knows where functions begin."""

    def is_entry(self, pc: int) -> bool:
        """Whether a function of interest begins at ``pc``, so that nothing in it is half done."""
        ...


class Probing(Protocol):
    """Runs the probe's methods in the target."""

    async def probe_text(self, gdb_thread: int, method: str, argument: str, deadline: float) -> str:
        """What a method of the probe returns within ``deadline`` seconds. Raises CommandError."""
        ...


class Debuggee(Protocol):
    """What an expression needs of a session."""

    @property
    def stop(self) -> Stop | None:
        """The stop that is shown; None while the target runs."""

    @property
    def inspector(self) -> Stacks:
        """The stacks of the stopped threads."""

    @property
    def probe(self) -> Probing:
        """Our probe in the target's Python."""

    @property
    def code(self) -> Entries:
        """Knows where functions begin."""

    def require(self, *states: State) -> None:
        """Raise WrongState unless the session is in one of these states."""


async def evaluate(
    session: Debuggee, expression: str, tid: int, frame: PythonFrame | None, limit: float = LIMIT
) -> Value:
    """The value of ``expression`` in a Python frame of a thread, by default its innermost one.

    The other threads run meanwhile, and no breakpoint stops. Raises NotSound, or EvaluationError with the exception
    that the expression raised.
    """
    session.require(State.NATIVE_STOPPED)
    stack = await session.inspector.stack(tid)
    visible = stack.visible()
    top = visible[0] if visible else None
    native_top = top if isinstance(top, NativeFrame) else None
    await check_sound(session.stop, session.inspector, session.code, tid, native_top)
    frame = frame or next((one for one in visible if isinstance(one, PythonFrame)), None)
    if frame is None:
        raise NotSound("this thread has no Python frame to evaluate in", "threads lists them")
    request = {"text": expression, "limit": limit, "file": frame.file, "line": frame.line}
    argument = json.dumps({**request, "function": frame.function})
    number = await session.inspector.gdb_thread(tid)
    try:
        text = await session.probe.probe_text(number, "evaluate", argument, _ANSWER_DEADLINE)
    except CommandError as error:
        raise EvaluationError(error.message, error.hint) from error
    answer = json.loads(text)
    if "error" in answer:
        raise EvaluationError(answer["error"])
    return Value(expression, answer["type"], answer["value"], Language.PYTHON)


async def check_sound(
    stop: Stop | None, threads: Stacks, entries: Entries, tid: int, top: NativeFrame | None
) -> None:
    """Raises NotSound where Python code cannot be run in a thread whose innermost shown frame is ``top``."""
    memory = "print NAME and locals read from memory"
    instead = f"{memory}; continue to a Python stop to evaluate"
    if stop is not None and stop.reason is Reason.SIGNAL:
        raise NotSound("nothing is run in a program that a signal stopped: its state may be broken", memory)
    attachment = await threads.attachment(tid)
    if not attachment:
        raise NotSound(f"thread {tid} {attachment.value}, so it cannot run Python code here", instead)
    if top is None or top.level != 0:
        raise NotSound("the thread is inside the interpreter, where Python code cannot be run", instead)
    if is_c_library(top.library):
        raise NotSound(
            "the thread is inside the C library, which may hold locks that Python code needs (malloc, fork)",
            instead,
        )
    if not (top.role is Role.USER and top.line is not None) and not entries.is_entry(top.pc):
        raise NotSound(
            "the thread stands in the middle of native code without debug info, where Python code cannot be run",
            instead,
        )
    if not threads.hears_python:
        raise NotSound("debugpy is not in the target, whose code is needed to evaluate", instead)
