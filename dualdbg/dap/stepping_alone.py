"""What can be asked while one thread steps and debugpy holds the others (``steppingResumesAllThreads`` is false)."""

from __future__ import annotations

import contextlib

from ..errors import CommandError, DualdbgError
from ..model import PythonFrame, State
from ..protocol import dap_types as dap
from .adapter import Adapter
from .handles import FrameHandle
from .presentation import bodies


def others_stand(adapter: Adapter) -> bool:
    """Whether the other threads stand while one steps."""
    started = adapter.started_from
    return started is not None and started.configuration.debugpy.get("steppingResumesAllThreads") is False


def steps_alone(adapter: Adapter) -> bool:
    """Whether a thread steps and others may be held meanwhile."""
    return others_stand(adapter) and adapter.session.state is State.RUNNING and adapter.session.steps


async def stack(adapter: Adapter, tid: int, start: int, levels: int) -> dap.StackTraceResponseBody:
    """A page of the Python frames of a thread, held or not, as debugpy has them; all from ``start`` on for 0 levels.

    Raises CommandError for a thread that has none.
    """
    number = adapter.session.inspector.debugpy_thread(adapter.debuggee.thread(tid))
    if number is None:
        raise CommandError(f"thread {tid} has run no Python code", "pause shows its native frames")
    answer = await adapter.session.inspector.relay("stackTrace", {"threadId": number})
    rows: list[dap.StackFrame] = []
    found = answer.get("stackFrames", [])
    for level, row in list(enumerate(found))[start : start + levels if levels > 0 else None]:
        file = (row.get("source") or {}).get("path")
        frame = PythonFrame(row["name"], file, row["line"], engine_id=row["id"])
        handle = FrameHandle(tid, frame, adapter.session.epoch)
        id = adapter.debuggee.handles.frames.add(handle, (tid, level))
        source, line = adapter.sources.of_frame(frame)
        rows.append(bodies.frame(id, frame, source, line, adapter.client))
    return {"stackFrames": rows, "totalFrames": len(found)}


def let_all_run(adapter: Adapter, tid: int) -> None:
    """The held threads run too, and the step is over, unless it has ended by now: then its stop is told."""
    number = adapter.session.inspector.debugpy_thread(tid)
    adapter.pump.implied.discard(adapter.session.epoch + 1)  # the target runs already
    adapter.background(_continue(adapter, "*" if number is None else number))


async def _continue(adapter: Adapter, thread: int | str) -> None:
    with contextlib.suppress(DualdbgError):  # the program may end, or stop, before there is an answer
        await adapter.session.inspector.relay("continue", {"threadId": thread, "dualdbgUnlessStopped": True})
