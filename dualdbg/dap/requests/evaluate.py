"""evaluate and completions: expressions of either language, and the prompt's commands in the debug console."""

from __future__ import annotations

import re
from typing import Any, cast

from ...console.value_names import native_names
from ...errors import CommandError, EvaluationError, SpecError
from ...model import NativeFrame, PythonFrame, State
from ...protocol import dap_types as dap
from ...session.inspect import deferred
from ...session.native_expressions import check_expression
from ...system.patience import patient
from ..adapter import Adapter
from ..asked_frame import frame_or_innermost, some_frame
from ..client.arguments import Arguments
from ..handles import FrameHandle
from ..presentation.formats import style_of, without_specifier
from ..presentation.prompt import PREFIXES, command_of
from ..presentation.values import as_evaluation
from ..registry import request

# Seconds; an expression may run as long as the user has patience, and can be cancelled.
_DEADLINE = patient(3600.0)
_NAME = re.compile(r"[^\W\d]\w*")
_MOST = 200  # completions are for people


@request(
    "evaluate",
    aside=True,
    looks=True,
    capabilities=(
        "supportsEvaluateForHovers",
        "supportsClipboardContext",
    ),
)
async def evaluate(adapter: Adapter, arguments: Arguments) -> dap.EvaluateResponseBody:
    expression = arguments.text("expression")
    context = arguments.text("context", None)
    command = command_of(expression) if context == "repl" else None
    if command is not None:
        selected = await frame_or_innermost(adapter, arguments)
        return {"result": await adapter.prompt.run(command, selected), "variablesReference": 0}
    if adapter.session.state in (State.RUNNING, State.PYTHON_STOPPED) and "frameId" not in arguments:
        return await _in_python(adapter, None, expression, context, arguments)
    handle = await some_frame(adapter, arguments)
    frame = handle.frame
    if isinstance(frame, PythonFrame) and adapter.session.state is State.NATIVE_STOPPED:
        return await _from_memory(adapter, handle, expression)
    if isinstance(frame, PythonFrame) and frame.engine_id is not None:
        return await _in_python(adapter, frame.engine_id, expression, context, arguments)
    if isinstance(frame, NativeFrame):
        return await _in_native(adapter, handle, expression, context, arguments)
    value = await adapter.session.inspector.evaluate(expression, handle.tid, frame, frame.language)
    return adapter.values.result(handle, value)


async def _in_native(
    adapter: Adapter, handle: FrameHandle, expression: str, context: str | None, arguments: Arguments
) -> dap.EvaluateResponseBody:
    expression, style = without_specifier(expression)
    if context == "hover":  # the user has not asked for what that would do
        try:
            check_expression(expression)
        except SpecError as error:
            raise EvaluationError(error.message, "evaluate it in the debug console, or watch it") from None
    reader = adapter.session.inspector.values
    evaluate = reader.evaluate_native_memory if context == "hover" else reader.evaluate_native
    value = await evaluate(expression, handle.tid, handle.frame, style or style_of(arguments))
    return adapter.values.result(handle, value)


async def _in_python(
    adapter: Adapter, engine_id: int | None, expression: str, context: str | None, arguments: Arguments
) -> dap.EvaluateResponseBody:
    """By debugpy; without a frame (``engine_id``) in a thread of its own, with the names of the main module."""
    # Without a context debugpy answers a failure as if it were a value; for a watch it says that it failed.
    asked: dict[str, Any] = {"expression": expression, "context": context or "watch"}
    if engine_id is not None:
        asked["frameId"] = engine_id
    if "format" in arguments:
        asked["format"] = arguments.values["format"]
    try:
        late = (lambda body: str(body.get("result", ""))) if context == "repl" else None
        answer = await adapter.session.inspector.relay("evaluate", asked, _DEADLINE, late)
    except CommandError as error:
        if context == "repl" and error.traceback:  # where in the program it was raised
            raise EvaluationError(error.traceback, error.hint) from error
        raise as_evaluation(error) from error
    body = cast(dap.EvaluateResponseBody, answer)
    body["variablesReference"] = adapter.values.python_reference(answer)
    answer.pop(deferred.OURS, None)
    return body


async def _from_memory(adapter: Adapter, handle: FrameHandle, expression: str) -> dap.EvaluateResponseBody:
    """While gdb holds the target, a plain name is looked up in memory; the session decides about any other text."""
    if _NAME.fullmatch(expression.strip()):
        for value in await adapter.session.inspector.variables(handle.tid, handle.frame):
            if value.name == expression.strip():
                return adapter.values.result(handle, value)
    value = await adapter.session.inspector.evaluate(
        expression, handle.tid, handle.frame, handle.frame.language
    )
    return adapter.values.result(handle, value)


@request("completions", looks=True, capabilities=("supportsCompletionsRequest",))
async def completions(adapter: Adapter, arguments: Arguments) -> dap.CompletionsResponseBody:
    text = arguments.text("text")
    line = arguments.number("line", None)
    row = adapter.client.our_line(line) if line is not None else 1
    lines = text.split("\n")
    if not 1 <= row <= len(lines):
        row = len(lines)
    column = adapter.client.our_column(arguments.number("column"))
    cursor = min(max(column - 1, 0), len(lines[row - 1]))
    written = lines[row - 1][:cursor]
    command = command_of(written)
    if command is not None or written.strip() in [prefix.strip() for prefix in PREFIXES]:
        return {"targets": _of_prompt(adapter, written, cursor)}
    handle = await frame_or_innermost(adapter, arguments)
    if handle is None:
        return {"targets": []}
    if isinstance(handle.frame, NativeFrame):
        return {"targets": await _of_native(adapter, handle, written, cursor)}
    if handle.frame.engine_id is None or adapter.session.state is not State.PYTHON_STOPPED:
        return {"targets": []}
    asked = {"text": text, "column": cursor + 1, "line": row, "frameId": handle.frame.engine_id}
    answer = await adapter.session.inspector.relay("completions", asked)
    return {"targets": answer.get("targets", [])[:_MOST]}


def _of_prompt(adapter: Adapter, written: str, cursor: int) -> list[dap.CompletionItem]:
    command = command_of(written) or ""
    if command and written[-1:].isspace():
        command += " "
    return [
        {"label": text, "start": adapter.client.column(cursor - length + 1), "length": length}
        for text, length in list(adapter.prompt.candidates(command))[:_MOST]
    ]


async def _of_native(
    adapter: Adapter, handle: FrameHandle, written: str, cursor: int
) -> list[dap.CompletionItem]:
    assert isinstance(handle.frame, NativeFrame)
    rows, length = await native_names(adapter.debuggee.memory, handle.tid, handle.frame, written)
    start = adapter.client.column(cursor - length + 1)
    return [{"label": text, "start": start, "length": length} for text in rows[:_MOST]]
