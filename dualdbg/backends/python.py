"""The requests of the session to the Python engine, and their answers, each with a type.

A request knows how to read its answer; bodies of DAP messages do not leave the backends.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..errors import ProtocolError

Answer = TypeVar("Answer")

OURS = "dualdbg"  # the key of a row with what target/bootstrap/dualdbg_presentation.py tells besides DAP's
FAILED = "<error>"  # the type of a row whose code was run and failed; its text says how


# What pydevd adds where a traceback has more than the stack: to the type's name, and to the function that is paused
# (pydevd_comm.py, build_exception_info_response).
_NOTE = re.compile(r" {7}\(note: full exception trace is shown but execution is paused at: .*\)$", re.DOTALL)
_MARK = re.compile(r" \(Current frame\)$", re.MULTILINE)


@dataclass(frozen=True)
class PythonRequest(Generic[Answer]):
    """A request, and the reader of its answer's body, which raises KeyError, TypeError or ValueError."""

    command: str
    arguments: dict[str, Any] | None
    reader: Callable[[dict[str, Any]], Answer]

    def read(self, body: dict[str, Any]) -> Answer:
        """The answer. Raises ProtocolError for a body that is not as DAP says for this request."""
        try:
            return self.reader(body)
        except (KeyError, TypeError, ValueError) as error:
            text = f"debugpy's answer to {self.command} cannot be read: {type(error).__name__}: {error}"
            raise ProtocolError(text) from error


@dataclass(frozen=True)
class StackFrame:
    """A Python frame of a thread that debugpy holds; ``id`` is debugpy's, valid until the thread runs."""

    id: int
    function: str
    file: str | None
    line: int | None
    columns: tuple[int, int] | None = (
        None  # of the code that runs in the line, from 1 on, the end not included
    )


@dataclass(frozen=True)
class StackTrace:
    """Frames, innermost first, and how many the thread has in all."""

    frames: tuple[StackFrame, ...]
    total: int


@dataclass(frozen=True)
class PythonValue:
    """A variable or the value of an expression. ``reference`` asks for its children; 0 means no children.

    ``count`` is the number of its elements, of a container. ``expression`` gives the value again. ``own_repr``:
    its class has a ``__repr__`` that was not run for the text. ``tensor`` are dtype and sizes of a tensor or array.
    ``opaque``: the text tells the class and the address alone.
    """

    name: str
    type: str
    text: str
    reference: int = 0
    count: int | None = None
    expression: str | None = None
    own_repr: bool = False
    tensor: dict[str, Any] | None = None
    opaque: bool = False


@dataclass(frozen=True)
class BreakpointAnswer:
    """debugpy's answer for one breakpoint: whether it is set, where, and a message for the user."""

    verified: bool
    id: int | None = None
    line: int | None = None
    message: str | None = None


# -- what is asked for ------------------------------------------------------------------------


def stack_trace(thread: int, levels: int | None = None) -> PythonRequest[StackTrace]:
    """The frames of a thread, given by debugpy's number: the innermost ``levels``, or all."""
    part = {} if levels is None else {"startFrame": 0, "levels": levels}
    return PythonRequest("stackTrace", {"threadId": thread, **part}, _stack_trace)


def evaluate(expression: str, frame: int | None, context: str = "watch") -> PythonRequest[PythonValue]:
    """The value of an expression in a frame; without one, in the main module of a program that may be running.

    ``context`` is DAP's: in ``clipboard`` the text is not shortened.
    """
    where = {} if frame is None else {"frameId": frame}
    arguments = {"expression": expression, "context": context, **where}
    return PythonRequest("evaluate", arguments, lambda body: _evaluated(expression, body))


def deferred_repr(expression: str, frame: int) -> PythonRequest[PythonValue]:
    """The value's ``repr`` by the program's own code, which is run when the one child of the answer is asked for."""
    arguments = {"expression": expression, "frameId": frame, "context": "repl", "dualdbgRepr": True}
    return PythonRequest("evaluate", arguments, lambda body: _evaluated(expression, body))


def scopes(frame: int) -> PythonRequest[dict[str, int]]:
    """The names of a frame's scopes (``Locals``, ``Globals``), each with its reference."""
    return PythonRequest("scopes", {"frameId": frame}, _scopes)


def variables(reference: int) -> PythonRequest[list[PythonValue]]:
    """The children of a value or of a scope, without the methods that every value of a type in C has."""
    arguments = {"variablesReference": reference, "format": {"dualdbgBrief": True}}
    return PythonRequest("variables", arguments, _variables)


def page(reference: int, start: int, count: int) -> PythonRequest[list[PythonValue]]:
    """``count`` of the children of a value from number ``start`` on, all elements of a container among them."""
    arguments = {
        "variablesReference": reference,
        "format": {"dualdbgBrief": True, "dualdbgPage": [start, count]},
    }
    return PythonRequest("variables", arguments, _variables)


def fields(reference: int) -> PythonRequest[list[PythonValue]]:
    """The attributes of the object itself: slots, members in C and what its ``__dict__`` holds."""
    arguments = {"variablesReference": reference, "format": {"dualdbgFields": True}}
    return PythonRequest("variables", arguments, _variables)


def break_mode(thread: int) -> PythonRequest[str]:
    """DAP's break mode of a stop at an exception: always, unhandled, userUnhandled, never; or empty."""
    return PythonRequest("exceptionInfo", {"threadId": thread}, lambda body: str(body.get("breakMode") or ""))


def set_breakpoints(
    command: str, arguments: dict[str, Any]
) -> PythonRequest[tuple[BreakpointAnswer, ...] | None]:
    """All breakpoints of a kind; the answer has one row for each, in their order, or None where DAP asks for none."""
    return PythonRequest(command, arguments, _breakpoints)


def move(command: str, thread: int, target: int | None = None) -> PythonRequest[None]:
    """Let a thread go on, and the others with it. ``command`` is continue, next, stepIn, stepOut or goto.

    ``target`` is a target that debugpy offered for stepIn or goto.
    """
    arguments = {"threadId": thread} if target is None else {"threadId": thread, "targetId": target}
    return PythonRequest(command, arguments, _nothing)


def pause_all() -> PythonRequest[None]:
    """Stop every thread at its next Python line."""
    return PythonRequest("pause", {"threadId": "*"}, _nothing)


def disconnect() -> PythonRequest[None]:
    """Let go of the program: it runs on."""
    return PythonRequest("disconnect", {"terminateDebuggee": False}, _nothing)


def as_it_is(command: str, arguments: dict[str, Any]) -> PythonRequest[dict[str, Any]]:
    """A request of an editor, which gets the answer unchanged, but for what pydevd writes into names."""
    return PythonRequest(command, arguments, _without_notes if command == "exceptionInfo" else _unchanged)


# -- how the answers are read -----------------------------------------------------------------


def _nothing(body: dict[str, Any]) -> None:
    return None


def _unchanged(body: dict[str, Any]) -> dict[str, Any]:
    return body


def _without_notes(body: dict[str, Any]) -> dict[str, Any]:
    """What pydevd adds to the type's name and to a function's, where it stopped in another frame than the innermost."""
    details = dict(body.get("details") or {})
    for row, key in ((body, "exceptionId"), (details, "typeName")):
        if key in row:
            row[key] = _NOTE.sub("", str(row[key]))
    if "stackTrace" in details:
        details["stackTrace"] = _MARK.sub("", str(details["stackTrace"]))
    return {**body, "details": details}


def _stack_trace(body: dict[str, Any]) -> StackTrace:
    frames = tuple(_stack_frame(row) for row in body.get("stackFrames") or ())
    return StackTrace(frames, int(body.get("totalFrames") or len(frames)))


def _stack_frame(row: dict[str, Any]) -> StackFrame:
    source = row.get("source") or {}
    name = _MARK.sub("", str(row["name"]))
    columns = (int(row["column"]), int(row["endColumn"])) if row.get("endColumn") else None
    return StackFrame(int(row["id"]), name, source.get("path"), row.get("line"), columns)


def _evaluated(expression: str, body: dict[str, Any]) -> PythonValue:
    return _value(expression, str(body.get("result", "")), body)


def _variables(body: dict[str, Any]) -> list[PythonValue]:
    rows = body.get("variables") or ()
    return [_value(str(row["name"]), str(row.get("value", "")), row) for row in rows]


def _value(name: str, text: str, row: dict[str, Any]) -> PythonValue:
    ours = row.get(OURS) or {}
    return PythonValue(
        name,
        str(row.get("type") or ""),
        text,
        int(row.get("variablesReference") or 0),
        row.get("indexedVariables", ours.get("count")),
        row.get("evaluateName"),
        bool(ours.get("ownRepr")),
        ours.get("tensor"),
        bool(ours.get("opaque")),
    )


def _scopes(body: dict[str, Any]) -> dict[str, int]:
    return {str(row["name"]): int(row["variablesReference"]) for row in body.get("scopes") or ()}


def _breakpoints(body: dict[str, Any]) -> tuple[BreakpointAnswer, ...] | None:
    rows = body.get("breakpoints")
    return None if not rows else tuple(breakpoint_answer(row) for row in rows)


def breakpoint_answer(row: dict[str, Any]) -> BreakpointAnswer:
    """A row of DAP's type Breakpoint."""
    number = row.get("id")
    return BreakpointAnswer(
        bool(row.get("verified")),
        None if number is None else int(number),
        row.get("line"),
        row.get("message"),
    )
