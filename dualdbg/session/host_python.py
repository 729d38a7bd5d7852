"""The Python half of a program that is no interpreter itself: it joins when the program starts its interpreter.

The program runs natively until then. Its interpreter imports our bootstrap (``target/bootstrap/sitecustomize.py``)
with its ``site``, calls, and waits there until the session has told it of the breakpoints.
"""

from __future__ import annotations

import asyncio
from typing import Any

from ..backends.debugpy import DebugpyEngine, DebugpyOptions
from ..errors import CommandError
from ..model import Notice
from ..system.patience import patient
from ..target.launcher import Meeting
from .announcement import announce_start
from .breakpoints.table import BreakpointTable
from .loop import Loop

_ANSWER_DEADLINE = patient(24 * 3600.0)  # gdb may hold the target for as long as the user likes
JOINED = "the program has started Python: Python breakpoints, steps and evaluation work from now on"


async def join(
    loop: Loop,
    python: DebugpyEngine,
    breakpoints: BreakpointTable,
    options: DebugpyOptions,
    meeting: Meeting,
    failure: asyncio.Future[str],
    gdb_version: str | None,
    called: asyncio.Future[int],
    replaced: asyncio.Event,
) -> None:
    """Wait until the interpreter calls, and make it the session's Python engine.

    ``called`` is done when it has; ``failure`` when it says that no debugger will come: raises CommandError then.
    ``replaced`` is set when the program is replaced by another, whose Python is no matter of ours.
    """
    ends = [asyncio.ensure_future(one.wait()) for one in (loop.ended, replaced)]
    waits: set[asyncio.Future[Any]] = {*ends, called, failure}
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if replaced.is_set():
            return
        if failure.done():
            reason = f"Python control is not possible: {failure.result().splitlines()[-1]}"
            breakpoints.python_impossible(reason)
            raise CommandError(reason, "native debugging goes on")
        if not called.done():
            return
    finally:
        for end in ends:
            end.cancel()
    await python.initialize(options, meeting.session_token, meeting.target_token, _ANSWER_DEADLINE)
    await breakpoints.python_connected()
    announce_start(loop, python.python_version, gdb_version)
    loop.tell(Notice("info", JOINED, ""))
    await python.configuration_done()
