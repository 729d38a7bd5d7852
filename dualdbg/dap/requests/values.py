"""variables, setVariable and setExpression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import CommandError, EvaluationError
from ...model import Language, NativeFrame, State
from ..arguments import Arguments
from ..registry import Body, request
from ..values import as_evaluation

if TYPE_CHECKING:
    from ..adapter import Adapter


@request("variables")
async def variables(adapter: Adapter, arguments: Arguments) -> Body:
    container = adapter.tables.variables.get(arguments.number("variablesReference"))
    return {"variables": await container.rows(arguments)}


@request("setVariable")
async def set_variable(adapter: Adapter, arguments: Arguments) -> Body:
    name, text = arguments.text("name"), arguments.text("value")
    container = adapter.tables.variables.get(arguments.number("variablesReference"))
    return _assigned(await container.assign(name, text, arguments))


@request("setExpression")
async def set_expression(adapter: Adapter, arguments: Arguments) -> Body:
    expression, text = arguments.text("expression"), arguments.text("value")
    handle = adapter.frame(arguments)
    frame = handle.frame
    if isinstance(frame, NativeFrame):
        value = await adapter.session.inspector.evaluate(
            f"{expression} = ({text})", handle.tid, frame, Language.NATIVE
        )
        return _assigned(adapter.values.row(handle, value))
    if adapter.session.state is not State.PYTHON_STOPPED or frame.engine_id is None:
        raise EvaluationError(
            f"{expression} cannot be set while gdb holds the target",
            "continue to a Python stop, and set it there",
        )
    asked: dict[str, Any] = {"expression": expression, "value": text, "frameId": frame.engine_id}
    if "format" in arguments:
        asked["format"] = arguments.values["format"]
    try:
        answer = await adapter.session.inspector.ask("setExpression", asked)
    except CommandError as error:
        raise as_evaluation(error) from error
    return _assigned(adapter.values.python_row(answer))


def _assigned(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: row[key]
        for key in (
            "value",
            "type",
            "variablesReference",
            "namedVariables",
            "indexedVariables",
            "memoryReference",
        )
        if key in row
    }
