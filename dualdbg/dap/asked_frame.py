"""The frame that a request is about, where the client may leave that out."""

from __future__ import annotations

from ..errors import EvaluationError
from .adapter import Adapter
from .client.arguments import Arguments
from .handles import FrameHandle


async def frame_or_innermost(adapter: Adapter, arguments: Arguments) -> FrameHandle | None:
    """The frame that the client names, else the innermost frame of the stop; None while the target runs."""
    session = adapter.session
    if "frameId" in arguments:
        return adapter.debuggee.frame(arguments.number("frameId"))
    stop = session.stop
    if stop is None:
        return None
    frames = (await session.inspector.stack()).visible()
    session.inspector.check_epoch(stop.epoch)  # it may run again by now
    return FrameHandle(stop.thread.tid, frames[0], stop.epoch) if frames else None


async def some_frame(adapter: Adapter, arguments: Arguments) -> FrameHandle:
    """The same. Raises CommandError where there is none."""
    handle = await frame_or_innermost(adapter, arguments)
    if handle is None:
        adapter.session.require_stopped()
        raise EvaluationError("there is no frame to evaluate in", "select one")
    return handle
