"""gotoTargets, goto and stepInTargets: what debugpy can do with the line of a Python stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CommandError, WrongState
from ...model import PythonFrame, State
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
    adapter.session.require(State.PYTHON_STOPPED)
    await adapter.session.step("goto", target=arguments.number("targetId"))
    return None


@request("stepInTargets")
async def step_in_targets(adapter: Adapter, arguments: Arguments) -> Body:
    handle = adapter.frame(arguments)
    frame = handle.frame
    if adapter.session.state is not State.PYTHON_STOPPED:
        raise WrongState("a native line has no list of its calls", "step into it, or set a breakpoint")
    if not isinstance(frame, PythonFrame) or frame.engine_id is None:
        raise CommandError("that is not a Python frame", "select one")
    answer = await adapter.session.inspector.ask("stepInTargets", {"frameId": frame.engine_id})
    return {"targets": answer.get("targets", [])}
