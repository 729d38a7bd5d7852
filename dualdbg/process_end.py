"""The end of a process as /proc tells it (proc(5)), also of one that is not a child of ours."""

from __future__ import annotations

import os
from pathlib import Path

from .model import Exit

_EXIT_CODE = 49  # of the fields behind the name: field 52 of /proc/PID/stat


def is_dead(pid: int) -> bool:
    """Whether its main thread has ended, reaped or not."""
    return _ended(f"/proc/{pid}/stat")


def has_ended(pid: int) -> bool:
    """Whether all its threads have ended, reaped or not."""
    try:
        return is_dead(pid) and _no_thread_lives(pid)
    except OSError:
        return True


def end_of(pid: int) -> Exit | None:
    """How the process has ended, all its threads too, while it is not reaped. None while it lives, or is gone."""
    try:
        fields = _fields(f"/proc/{pid}/stat")
        if fields[0] != "Z" or not _no_thread_lives(pid):
            return None
    except OSError:
        return None
    status = int(fields[_EXIT_CODE])
    return Exit(signal=os.WTERMSIG(status)) if os.WIFSIGNALED(status) else Exit(os.WEXITSTATUS(status))


def _no_thread_lives(pid: int) -> bool:
    return all(_ended(f"{task}/stat") for task in Path(f"/proc/{pid}/task").iterdir())


def _ended(stat: str) -> bool:
    try:
        return _fields(stat)[0] in "ZX"
    except OSError:
        return True


def _fields(stat: str) -> list[str]:
    """What stands behind the name in such a file."""
    return Path(stat).read_text(errors="replace").rpartition(")")[2].split()
