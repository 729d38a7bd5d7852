"""Notices that a process has died while gdb holds it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from .loop import Loop
from .transitions.ending import target_died

_INTERVAL = 0.25  # seconds between two looks at a process that gdb holds


def is_dead(pid: int) -> bool:
    """Whether the process has ended, reaped or not. (Field 3 of /proc/PID/stat, proc(5).)"""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


async def watch_death(loop: Loop) -> None:
    """Make gdb look at a process that was killed while gdb holds it: until then it stays a zombie.

    Nothing tells of such a death. The kernel reports it to gdb, which does not ask while its target is stopped, and a
    pidfd waits for the threads that only gdb can reap. So we look, but only during native stops.
    """
    while not loop.ended.is_set():
        await loop.native_held.wait()
        if is_dead(loop.state.pid):
            loop.put(target_died)
            return
        await asyncio.sleep(_INTERVAL)
