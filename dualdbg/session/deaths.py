"""Notices that a process has died while gdb holds it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DualdbgError

if TYPE_CHECKING:
    from .session import Session

_INTERVAL = 0.25  # seconds between two looks at a process that gdb holds


def is_dead(pid: int) -> bool:
    """Whether the process has ended, reaped or not: field 3 of /proc/PID/stat, proc(5)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


async def watch_death(session: Session) -> None:
    """A process that is killed while gdb holds it stays a zombie until gdb looks: make it look.

    Nothing tells of such a death: the kernel reports it to gdb, which does not ask while its target is stopped,
    and a pidfd waits for the threads that only gdb can reap. So this looks, but only during native stops.
    """
    while not session.ended.is_set():
        await session.native_held.wait()
        if not is_dead(session.pid):
            await asyncio.sleep(_INTERVAL)
            continue
        session.native_held.clear()
        try:
            await session.native.resume()
        except DualdbgError:
            await session.native.close(grace=0.0)  # it holds nothing alive any more
        return
