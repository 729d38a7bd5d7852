"""threads, stackTrace and scopes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...model import Frame, NativeFrame, PythonFrame, Reason, Role, Stack, State
from ...protocol import dap_types as dap
from .. import stepping_alone
from ..adapter import Adapter
from ..client.arguments import Arguments
from ..handles import FrameHandle
from ..presentation import bodies
from ..presentation.tasks import task_scopes
from ..registry import request
from ..stages import CONFIGURABLE
from .sources import tell_python_modules


@dataclass(frozen=True)
class Boundary:
    """A label between two frames of different languages; it stands for the frame below it."""

    above: Frame
    below: Frame


@request("threads", CONFIGURABLE, looks=True)
async def threads(adapter: Adapter, arguments: Arguments) -> dap.ThreadsResponseBody:
    rows = await adapter.session.inspector.thread_list.all()
    adapter.pump.threads_are({row.tid for row in rows})
    return {"threads": [bodies.thread(row) for row in rows]}


@request("stackTrace", looks=True, capabilities=("supportsDelayedStackTraceLoading",))
async def stack_trace(adapter: Adapter, arguments: Arguments) -> dap.StackTraceResponseBody:
    tid = arguments.number("threadId")
    start = max(arguments.number("startFrame", 0), 0)
    levels = arguments.number("levels", 0)
    if stepping_alone.steps_alone(adapter):
        return await stepping_alone.stack(adapter, tid, start, levels)
    stack = await adapter.session.inspector.stack(tid)
    if not stack.frames:
        adapter.debuggee.thread(tid)
    rows = with_boundaries(_own_first(adapter, stack))
    page = rows[start : start + levels if levels > 0 else None]
    references = await _references(adapter, tid, page)
    wanted = arguments.object("format").values
    meant = _meant(adapter, stack)
    if adapter.module_news.may_have_come(adapter.session.epoch, tid):
        adapter.background(tell_python_modules(adapter))
    return {
        "stackFrames": [
            _body(adapter, tid, number, row, references, wanted, meant)
            for number, row in enumerate(page, start)
        ],
        "totalFrames": len(rows),
    }


def _own_first(adapter: Adapter, stack: Stack) -> tuple[Frame, ...]:
    """The visible frames. Editors select the first one that is not subtle: that which the stop is about."""
    stop, frames = adapter.session.stop, stack.visible()
    number = stop.number if stop is not None and stop.thread.tid == stack.thread else 0
    return (*(replace(frame, role=Role.GLUE) for frame in frames[:number]), *frames[number:])


def _meant(adapter: Adapter, stack: Stack) -> Frame | None:
    """The frame that the user has asked for, by a breakpoint or a step; None where the program was just somewhere."""
    stop, frames = adapter.session.stop, stack.visible()
    if stop is None or stop.thread.tid != stack.thread or stop.reason in (Reason.PAUSE, Reason.SIGNAL):
        return None
    return frames[stop.number] if stop.number < len(frames) else None


def with_boundaries(frames: tuple[Frame, ...]) -> list[Frame | Boundary]:
    """The frames, with a row between two of different languages."""
    rows: list[Frame | Boundary] = []
    for index, frame in enumerate(frames):
        if index and frames[index - 1].language is not frame.language:
            rows.append(Boundary(frames[index - 1], frame))
        rows.append(frame)
    return rows


def _body(
    adapter: Adapter,
    tid: int,
    number: int,
    row: Frame | Boundary,
    references: dict[int, int],
    wanted: dict[str, Any],
    meant: Frame | None,
) -> dap.StackFrame:
    frame = row.below if isinstance(row, Boundary) else row
    id = adapter.debuggee.handles.frames.add(FrameHandle(tid, frame, adapter.session.epoch), (tid, number))
    if isinstance(row, Boundary):
        return bodies.boundary(id, row.above, row.below)
    reference = references.get(frame.engine_id or -1) if isinstance(frame, PythonFrame) else None
    source, line = adapter.sources.of_frame(frame, reference)
    body = bodies.frame(id, frame, source, line, adapter.client)
    if row is meant:  # VS Code folds what is subtle or de-emphasized, the first frame too
        body.pop("presentationHint", None)
        if source is not None:
            source.pop("presentationHint", None)
    if wanted:
        body["name"] = bodies.formatted_name(frame, wanted)
    return body


async def _references(adapter: Adapter, tid: int, page: list[Frame | Boundary]) -> dict[int, int]:
    """debugpy's source references of the frames whose code is in no file, by debugpy's frame ids."""
    without = [
        row
        for row in page
        if isinstance(row, PythonFrame)
        and row.engine_id is not None
        and not adapter.sources.is_file(row.file)
    ]
    number = adapter.session.inspector.debugpy_thread(tid)
    if not without or number is None or adapter.session.state is not State.PYTHON_STOPPED:
        return {}
    answer = await adapter.session.inspector.relay("stackTrace", {"threadId": number})
    return {
        int(row["id"]): int((row.get("source") or {}).get("sourceReference") or 0)
        for row in answer.get("stackFrames", ())
    }


@request("scopes", looks=True)
async def scopes(adapter: Adapter, arguments: Arguments) -> dap.ScopesResponseBody:
    handle = adapter.debuggee.frame(arguments.number("frameId"))
    if isinstance(handle.frame, NativeFrame):
        found = adapter.values.native_scopes(handle)
    else:
        found = await adapter.values.python_scopes(handle)
    if stepping_alone.steps_alone(adapter):
        return {"scopes": found}
    return {"scopes": [*found, *await task_scopes(adapter.values, handle)]}
