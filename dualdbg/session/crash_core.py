"""Keeps a core of a target that crashes, as gdb writes it while it holds the target at the signal."""

from __future__ import annotations

from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CommandError
from ..model import Notice, Reason, Stop
from .progress import progress

if TYPE_CHECKING:
    from .session import Session

# Those that end a program and say that it is broken; signal(7), "Core".
CRASHES = frozenset({"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGSYS", "SIGTRAP"})
_DEADLINE = 600.0  # seconds: as much is written as the target has in memory


async def keep_core(session: Session, folder: Path, stop: Stop) -> None:
    """Write ``folder``/core.PID when ``stop`` is a crash; what came of it is told.

    A later one is core.PID.2: a handler that raises the signal again shows less than the first did.
    """
    signal = (stop.description or "").partition(",")[0]
    if stop.reason is not Reason.SIGNAL or signal not in CRASHES:
        return
    path = _free(folder / f"core.{session.pid}")
    try:
        async with progress(session.emit, f"writing {path}"):
            await session.native.console(f"generate-core-file {path}", _DEADLINE)
    except CommandError as error:
        session.emit(
            Notice(
                "warning", f"no core could be kept: {error.message}", "is there room, and may it be written?"
            )
        )
        return
    megabytes = path.stat().st_size / 1e6
    session.emit(Notice("info", f"a core of {megabytes:.0f} MB is kept", f"dualdbg core {path}"))


def _free(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.{number}") for number in count(2))
    return next(name for name in chain([path], names) if not name.exists())
