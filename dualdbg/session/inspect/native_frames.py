"""Native frames as gdb unwinds them."""

from __future__ import annotations

from ...backends.native import AskingGdb
from ...model import NativeFrame
from ...shared.requests.threads import ReadFrames


async def read_frames(native: AskingGdb, gdb_thread: int, limit: int) -> list[NativeFrame]:
    """Return at most ``limit`` frames of a thread, innermost first. The library of each is not known yet."""
    rows = await native.ask(ReadFrames(gdb_thread, limit))
    return [NativeFrame(level=level, **row._asdict()) for level, row in enumerate(rows)]
