"""gotoTargets, goto and stepInTargets: what can be done with the line of a stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CommandError, WrongState
from ...model import Language, NativeFrame, PythonFrame, State
from ...session.call_choice import calls_ahead
from ..arguments import Arguments
from ..breakpoints import is_python
from ..registry import Body, request

if TYPE_CHECKING:
    from ..adapter import Adapter


@request("gotoTargets")
async def goto_targets(adapter: Adapter, arguments: Arguments) -> Body:
    path = arguments.object("source").text("path", "")
    if adapter.session.state is not State.PYTHON_STOPPED or not is_python(path):
        return {"targets": []}
    theirs = adapter.sources.remember(path)
    asked = {"source": {"path": theirs}, "line": adapter.client.our_line(arguments.number("line"))}
    answer = await adapter.session.inspector.ask("gotoTargets", asked)
    return {
        "targets": [
            {**row, "line": adapter.client.line(int(row["line"]))} for row in answer.get("targets", ())
        ]
    }


@request("goto", resumes=True)
async def goto(adapter: Adapter, arguments: Arguments) -> Body:
    arguments.number("threadId")
    if adapter.session.require_stopped().origin is not Language.PYTHON:
        raise WrongState(
            "gdb holds the program, and only a Python stop can be moved", "continue to a Python line"
        )
    await adapter.session.step("goto", target=arguments.number("targetId"))
    return None


@request("stepInTargets")
async def step_in_targets(adapter: Adapter, arguments: Arguments) -> Body:
    handle = adapter.frame(arguments)
    frame = handle.frame
    if isinstance(frame, NativeFrame) and adapter.session.state is State.NATIVE_STOPPED:
        calls = await calls_ahead(adapter.session, frame) if frame.level == 0 else []
        add = adapter.tables.calls.add
        return {"targets": [{"id": add(call.address), "label": call.function} for call in calls]}
    if adapter.session.state is not State.PYTHON_STOPPED:
        return {"targets": []}  # a Python line at a native stop: nothing may be asked of debugpy
    if not isinstance(frame, PythonFrame) or frame.engine_id is None:
        raise CommandError("that is not a Python frame", "select one")
    answer = await adapter.session.inspector.ask("stepInTargets", {"frameId": frame.engine_id})
    return {"targets": answer.get("targets", [])}
