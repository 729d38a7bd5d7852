"""What can be asked while one thread steps and debugpy holds the others (``steppingResumesAllThreads`` is false)."""

from __future__ import annotations

import contextlib

from ..errors import CommandError, EngineLost
from ..model import PythonFrame, State
from ..protocol import dap_types as dap
from .adapter import Adapter
from .handles import FrameHandle
from .presentation import bodies


def steps_alone(adapter: Adapter) -> bool:
    """Whether a thread steps and others may be held meanwhile."""
    started = adapter.started_from
    alone = started is not None and started.configuration.debugpy.get("steppingResumesAllThreads") is False
    return alone and adapter.session.state is State.RUNNING


async def stack(adapter: Adapter, tid: int) -> dap.StackTraceResponseBody:
    """The Python frames of a thread, held or not, as debugpy has them. Raises CommandError for any other thread."""
    number = adapter.session.inspector.debugpy_thread(adapter.debuggee.thread(tid))
    if number is None:
        raise CommandError(f"thread {tid} has run no Python code", "pause shows its native frames")
    answer = await adapter.session.inspector.relay("stackTrace", {"threadId": number})
    rows: list[dap.StackFrame] = []
    for row in answer.get("stackFrames", ()):
        file = (row.get("source") or {}).get("path")
        frame = PythonFrame(row["name"], file, row["line"], engine_id=row["id"])
        handle = FrameHandle(tid, frame, adapter.session.epoch)
        id = adapter.debuggee.handles.frames.add(handle, (tid, len(rows)))
        source, line = adapter.sources.of_frame(frame)
        rows.append(bodies.frame(id, frame, source, line, adapter.client))
    return {"stackFrames": rows, "totalFrames": len(rows)}


async def let_all_run(adapter: Adapter, tid: int) -> None:
    """The held threads run too, and the step is given up."""
    number = adapter.session.inspector.debugpy_thread(tid)
    with contextlib.suppress(EngineLost):  # the program may end before debugpy has answered
        await adapter.session.inspector.relay("continue", {"threadId": "*" if number is None else number})
