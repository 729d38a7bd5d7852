"""Keeps a core of a target that crashes: gdb writes it while it holds the target at the signal."""

from __future__ import annotations

import os
import shlex
from itertools import chain, count
from pathlib import Path

from ...errors import CommandError
from ...known.crash_signals import CRASHES
from ...model import Notice, Reason
from ...system.private_files import new_file
from ..engines import Holding
from ..loop import Loop
from ..progress import progress
from .facts import Show


async def keep_core(loop: Loop, native: Holding, folder: Path, verdict: Show) -> None:
    """Write ``folder``/core.PID when the stop is a crash, and tell what became of it.

    A later core is core.PID.2: where a handler raises the signal again, the first core shows more. Only the user may
    read the file: it is all of the program's memory.
    """
    signal = (verdict.description or "").partition(",")[0]
    if verdict.reason is not Reason.SIGNAL or signal not in CRASHES:
        return
    try:
        path, descriptor = _new(folder / f"core.{loop.state.pid}")
    except OSError as error:
        _complain(loop, f"{folder}: {error.strerror}")
        return
    try:
        # gdb gets the open file: by the time that gdb opens a name, it could be that of another file.
        async with progress(loop.tell, f"writing {path}"):
            await native.write_core(Path(f"/proc/{os.getpid()}/fd/{descriptor}"))
        megabytes = os.fstat(descriptor).st_size / 1e6
    except BaseException as error:
        path.unlink(missing_ok=True)
        if not isinstance(error, CommandError):
            raise
        _complain(loop, error.message)
        return
    finally:
        os.close(descriptor)
    loop.tell(
        Notice("info", f"a core of {megabytes:.0f} MB is kept", f"dualdbg core {shlex.quote(str(path))}")
    )


def _complain(loop: Loop, why: str) -> None:
    hint = "is there room, and may it be written?"
    loop.tell(Notice("warning", f"no core could be kept: {why}", hint))


def _new(path: Path) -> tuple[Path, int]:
    """A new file of this name, with the first free number where it exists; and the descriptor to write to."""
    for candidate in chain([path], (path.with_name(f"{path.name}.{number}") for number in count(2))):
        try:
            return candidate, new_file(candidate)
        except FileExistsError:
            continue
    raise AssertionError("there is no last number")
