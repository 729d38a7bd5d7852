"""Notices the end of a process of which gdb does not tell, and has gdb give it back to its parent."""

from __future__ import annotations

import asyncio

from ..system.patience import patient
from ..system.process_end import end_of, has_ended
from ..system.waiting import first_of
from .engines import NativeEngine
from .loop import Loop
from .transitions.ending import exited, target_died

GDB_GRACE = patient(2.0)  # seconds for a gdb that has nothing to let go of
_INTERVAL = 0.25  # seconds between two looks at a process that gdb holds
_RUNNING = patient(1.0)  # and at one that runs


async def watch_death(loop: Loop) -> None:
    """Notice what gdb does not tell.

    A process that is killed while gdb holds it: the kernel reports it to gdb, which does not ask while its target is
    stopped, and a pidfd waits for the threads that only gdb can reap. So we look, and make gdb look. And one that is
    killed just as gdb lets it run: gdb says that it has no registers any more, and never that the process has ended.
    """
    seen = 0
    while not loop.ended.is_set():
        if loop.native_held.is_set():
            if has_ended(loop.state.pid):
                loop.put(target_died)
                return
            await asyncio.sleep(_INTERVAL)
            continue
        await first_of(loop.native_held.wait(), loop.ended.wait(), seconds=_RUNNING)
        end = None if loop.native_held.is_set() else end_of(loop.state.pid)
        seen = 0 if end is None else seen + 1
        if end is not None and seen > 1:  # gdb has had its time
            loop.put(exited, end)
            return


async def give_back(native: NativeEngine, told: asyncio.Event) -> None:
    """Let the parent of a process that has ended collect it. ``told``: gdb has told an end.

    One that was killed while gdb held it stays a zombie until gdb asks for it, or is gone: its parent waits so long.
    The session is over, and gdb is needed no more.
    """
    await first_of(told.wait(), seconds=GDB_GRACE)
    if not told.is_set():
        await native.close(grace=0.0)
