"""Runs in the target: evaluates the user's expression in a frame of a thread that gdb holds, within a time limit.

Called by gdb in a thread that holds the GIL and stands where native code may call Python. CPython 3.8 and later.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

    from dualdbg.target.bootstrap import dualdbg_statements as statements
else:
    statements = globals()["beside"]("dualdbg_statements")  # whoever loads this file puts ``beside`` there

LONGEST = 20000  # characters of a value


class TimeIsUp(BaseException):
    """The time limit has passed. ``except Exception`` in the evaluated code does not catch it."""


def evaluate(argument: str) -> str:
    """JSON in, JSON out: the value's text and type, or the exception as Python words it.

    The text of statements, and the exception that ends them, come after a line for each value that Python's prompt
    would have shown. ``argument``: text, limit in seconds, and file, line and function of the frame.
    """
    import pydevd  # type: ignore[import-not-found]

    request = json.loads(argument)
    frame = frame_of(sys._getframe(1), request)
    if frame is None:
        return json.dumps({"error": "the frame is not there any more"})
    presentation = pydevd.dualdbg_presentation
    reader, texts = presentation.reader(), []
    try:
        code, is_expression = compiled(request["text"])
        with statements.displayed(lambda value: texts.append(reader.text(value))):
            value = within(request["limit"], code, frame)
        if not is_expression:
            return json.dumps({"value": lines(texts), "type": ""})
        return json.dumps({"value": reader.text(value)[:LONGEST], "type": reader.type_name(value)})
    except TimeIsUp:
        return json.dumps({"error": lines([*texts, "it was ended after {:g} s".format(request["limit"])])})
    except BaseException as error:  # whatever the expression raises is its result
        return json.dumps({"error": lines([*texts, presentation.worded(error)])})


def lines(texts: list[str]) -> str:
    """Cut at the beginning: the last ones say how it ended."""
    return "\n".join(texts)[-LONGEST:]


def frame_of(frame: FrameType | None, request: dict[str, Any]) -> FrameType | None:
    while frame is not None:
        same_file = os.path.basename(frame.f_code.co_filename) == os.path.basename(request["file"] or "")
        name = request["function"].rpartition(".")[2]
        if same_file and frame.f_lineno == request["line"] and frame.f_code.co_name == name:
            return frame
        frame = frame.f_back
    return None


def compiled(text: str) -> tuple[CodeType, bool]:
    """The code of the user's text, and whether it is an expression. Raises SyntaxError."""
    try:
        return compile(text, "<dualdbg>", "eval"), True
    except SyntaxError:
        return statements.compiled(text, "<dualdbg>"), False


def within(limit: float, code: CodeType, frame: FrameType) -> Any:
    """Run it in the frame. TimeIsUp ends its Python code after ``limit`` seconds."""
    end = time.monotonic() + limit

    def watch(_frame: FrameType, _event: str, _argument: Any) -> Any:
        if time.monotonic() > end:
            raise TimeIsUp
        return watch

    set_trace = settrace()
    previous = sys.gettrace()
    variables = frame.f_locals
    set_trace(watch)
    try:
        return eval(code, frame.f_globals, variables)
    finally:
        set_trace(previous)
        if sys.version_info < (3, 13):  # later f_locals writes through: PEP 667
            import ctypes

            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def settrace() -> Any:
    """The interpreter's own function, not pydevd's replacement, which warns."""
    import pydevd_tracing  # type: ignore[import-not-found]

    return pydevd_tracing.TracingFunctionHolder._original_tracing or sys.settrace
