"""variables, setVariable and setExpression."""

from __future__ import annotations

from typing import Any, cast

from ...errors import CommandError, EvaluationError
from ...model import Language, NativeFrame, State
from ...protocol import dap_types as dap
from ..adapter import Adapter
from ..asked_frame import some_frame
from ..client.arguments import Arguments
from ..presentation.values import as_evaluation
from ..registry import request


@request("variables", looks=True, capabilities=("supportsValueFormattingOptions",))
async def variables(adapter: Adapter, arguments: Arguments) -> dap.VariablesResponseBody:
    container = adapter.debuggee.handles.variables.get(arguments.number("variablesReference"))
    return {"variables": await container.rows(arguments)}


@request("setVariable", capabilities=("supportsSetVariable",))
async def set_variable(adapter: Adapter, arguments: Arguments) -> dap.SetVariableResponseBody:
    name, text = arguments.text("name"), arguments.text("value")
    container = adapter.debuggee.handles.variables.get(arguments.number("variablesReference"))
    return await container.assign(name, text, arguments)


@request("setExpression", capabilities=("supportsSetExpression",))
async def set_expression(adapter: Adapter, arguments: Arguments) -> dap.SetExpressionResponseBody:
    expression, text = arguments.text("expression"), arguments.text("value")
    handle = await some_frame(adapter, arguments)
    frame = handle.frame
    if isinstance(frame, NativeFrame):
        value = await adapter.session.inspector.evaluate(
            f"{expression} = ({text})", handle.tid, frame, Language.NATIVE
        )
        return _of_expression(adapter.values.assigned(handle, value))
    if adapter.session.state is not State.PYTHON_STOPPED or frame.engine_id is None:
        raise EvaluationError(
            f"{expression} cannot be set while gdb holds the target",
            "continue to a Python stop, and set it there",
        )
    asked: dict[str, Any] = {"expression": expression, "value": text, "frameId": frame.engine_id}
    if "format" in arguments:
        asked["format"] = arguments.values["format"]
    try:
        answer = await adapter.session.inspector.relay("setExpression", asked)
    except CommandError as error:
        raise as_evaluation(error) from error
    return _of_expression(adapter.values.python_assigned(answer))


def _of_expression(assigned: dap.SetVariableResponseBody) -> dap.SetExpressionResponseBody:
    """The same body: it lacks only a hint that may be missing."""
    return cast(dap.SetExpressionResponseBody, assigned)
