"""The Python processes of this machine, and what could be done with each."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import DualdbgError
from ..target import ptrace
from .procfs import read_process, read_stat

_VERSION = re.compile(r"(?:lib)?python(3\.\d+)")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class PythonProcess:
    """``cpu`` is the share of one processor since the start, ``seconds`` the time since then.

    ``refusal`` says why dualdbg may not trace it, None when it may; ``traced_by`` is the process of a debugger that
    has it already.
    """

    pid: int
    parent: int
    owner: int
    command: str
    version: str | None
    has_torch: bool
    threads: int
    cpu: float
    seconds: float
    state: str
    refusal: str | None


def python_processes(everybody: bool = False) -> list[PythonProcess]:
    """The Python processes of this user, or with ``everybody`` all that can be seen; never dualdbg itself."""
    return [process for pid in _pids() if (process := _look(pid, everybody)) is not None]


def _pids() -> Iterator[int]:
    ours = os.getpid()
    return (
        int(name) for name in sorted(filter(str.isdigit, os.listdir("/proc")), key=int) if int(name) != ours
    )


def _look(pid: int, everybody: bool) -> PythonProcess | None:
    facts = read_process(pid)
    if facts is None or facts.state in "ZX" or (facts.owner != os.geteuid() and not everybody):
        return None
    try:
        program = os.readlink(f"/proc/{pid}/exe")
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            maps = file.read()
        _, fields = read_stat(f"/proc/{pid}/stat")
    except OSError:
        return None  # another user's, a kernel thread, or gone
    name = os.path.basename(program)
    if not name.startswith("python") and "/libpython" not in maps:
        return None
    match = _VERSION.match(name) or re.search(r"/libpython(3\.\d+)", maps) or _VERSION.search(maps)
    used, threads, started = int(fields[11]) + int(fields[12]), int(fields[17]), int(fields[19])
    seconds = max(time.clock_gettime(time.CLOCK_BOOTTIME) - started / _TICKS, 0.01)
    return PythonProcess(
        pid=pid,
        parent=facts.parent,
        owner=facts.owner,
        command=facts.command,
        version=match[1] if match else None,
        has_torch="/libtorch_cpu" in maps or "/libtorch_python" in maps,
        threads=threads,
        cpu=used / _TICKS / seconds,
        seconds=seconds,
        state=facts.state,
        refusal=_refusal(pid),
    )


def _refusal(pid: int) -> str | None:
    try:
        ptrace.check(pid)
    except DualdbgError as error:
        return error.message
    return None
