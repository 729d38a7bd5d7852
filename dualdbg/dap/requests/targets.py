"""gotoTargets and stepInTargets: what a jump or a step into could go to. Nothing runs here (``run_control.py``)."""

from __future__ import annotations

from ...errors import CommandError
from ...model import NativeFrame, PythonFrame, State
from ...protocol import dap_types as dap
from ...session.stepping.step_in_targets import calls_ahead, place_of_line
from ..adapter import Adapter
from ..client.arguments import Arguments
from ..presentation.breakpoints import is_python
from ..registry import request


@request("gotoTargets", looks=True, capabilities=("supportsGotoTargetsRequest",))
async def goto_targets(adapter: Adapter, arguments: Arguments) -> dap.GotoTargetsResponseBody:
    path = arguments.object("source").text("path", "")
    if adapter.session.state is State.NATIVE_STOPPED and path and not is_python(path):
        return {"targets": await _places_in_native_code(adapter, path, arguments)}
    if adapter.session.state is not State.PYTHON_STOPPED or not is_python(path):
        return {"targets": []}
    theirs = adapter.sources.remember(path)
    asked = {"source": {"path": theirs}, "line": adapter.client.our_line(arguments.number("line"))}
    answer = await adapter.session.inspector.relay("gotoTargets", asked)
    rows: list[dap.GotoTarget] = answer.get("targets", [])
    for row in rows:
        row["id"] = adapter.debuggee.handles.places.add(row["id"])
        row["line"] = adapter.client.line(row["line"])
        row["label"] = f"{path}:{row['line']}"
    return {"targets": rows}


async def _places_in_native_code(adapter: Adapter, path: str, arguments: Arguments) -> list[dap.GotoTarget]:
    """The line in the function where the thread of the stop stands: the stack below fits to no other function."""
    session = adapter.session
    frames = (await session.inspector.stack()).visible()
    if not frames or not isinstance(frames[0], NativeFrame) or frames[0].level != 0:
        return []
    theirs = adapter.sources.remember(path)
    line = adapter.client.our_line(arguments.number("line"))
    found = await place_of_line(session, frames[0], theirs, line)
    if found is None or found.line is None:
        return []
    row: dap.GotoTarget = {
        "id": adapter.debuggee.handles.places.add(found.address),
        "label": f"{frames[0].function or 'function'}, line {adapter.client.line(found.line)}",
        "line": adapter.client.line(found.line),
        "instructionPointerReference": f"{found.address:#x}",
    }
    return [row]


@request("stepInTargets", looks=True, capabilities=("supportsStepInTargetsRequest",))
async def step_in_targets(adapter: Adapter, arguments: Arguments) -> dap.StepInTargetsResponseBody:
    handle = adapter.debuggee.frame(arguments.number("frameId"))
    frame = handle.frame
    add = adapter.debuggee.handles.calls.add
    if isinstance(frame, NativeFrame) and adapter.session.state is State.NATIVE_STOPPED:
        calls = await calls_ahead(adapter.session, frame) if frame.level == 0 else []
        return {"targets": [{"id": add(call.address), "label": call.function} for call in calls]}
    if adapter.session.state is not State.PYTHON_STOPPED:
        return {"targets": []}  # a Python line at a native stop: nothing may be asked of debugpy
    if not isinstance(frame, PythonFrame) or frame.engine_id is None:
        raise CommandError("that is not a Python frame", "select one")
    answer = await adapter.session.inspector.relay("stepInTargets", {"frameId": frame.engine_id})
    rows: list[dap.StepInTarget] = answer.get("targets", [])
    return {"targets": [{**row, "id": add(row["id"])} for row in rows]}
