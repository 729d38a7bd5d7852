"""The Python processes of this machine, and what could be done with each."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass

import psutil

from ...shared.libraries import TORCH_CPU, TORCH_PYTHON, holds_interpreter
from ...shared.proc_files import mappings, read_maps, stat_of
from ...target import ptrace

_VERSION = re.compile(r"(?:lib)?python(3\.\d+)")
# What our helpers run: gdb reads the first (backends/gdb_process.py), the second is the parent of a program.
_OURS = ("/dualdbg_session.py", "/dualdbg/target/keeper.py")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class PythonProcess:
    """``cpu`` is the share of one processor since the start, ``seconds`` the time since then.

    ``refusal`` says why dualdbg may not trace it, None when it may. ``traced_by`` is the process id of the debugger
    that traces it already.
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
    """The Python processes of this user, or with ``everybody`` all that can be seen.

    dualdbg itself is left out, and so are gdb and the other helpers of sessions.
    """
    found = []
    for process in psutil.process_iter():
        try:
            with process.oneshot():
                mine = process.uids().effective == os.geteuid()
                if process.pid != os.getpid() and (mine or everybody):
                    found.append(_look(process))
        except (psutil.Error, OSError):
            continue  # it belongs to another user, or has ended
    return [process for process in found if process is not None]


def _look(process: psutil.Process) -> PythonProcess | None:
    """The facts of a process, None when it is no Python. Raises psutil.Error and OSError when it cannot be read."""
    pid = process.pid
    if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
        return None
    words = process.cmdline()
    if any(word.endswith(_OURS) for word in words):
        return None
    name = os.path.basename(process.exe())
    # psutil reads smaps, for which the kernel counts every page: 10 times as long.
    maps = read_maps(pid)
    if not any(holds_interpreter(path) for path in {name, *(row.path for row in mappings(maps))}):
        return None
    match = _VERSION.match(name) or re.search(r"/libpython(3\.\d+)", maps) or _VERSION.search(maps)
    # The state is published as the kernel's letter, which psutil does not give. psutil's time of the start is wrong by
    # up to a second: it adds the kernel's btime, which is in whole seconds.
    stat = stat_of(pid)
    seconds = max(time.clock_gettime(time.CLOCK_BOOTTIME) - stat.began / _TICKS, 0.01)
    used = process.cpu_times()
    return PythonProcess(
        pid=pid,
        parent=process.ppid(),
        owner=process.uids().effective,
        command=" ".join(words) or f"[{process.name()}]",
        version=match[1] if match else None,
        has_torch=f"/{TORCH_CPU}" in maps or f"/{TORCH_PYTHON}" in maps,
        threads=process.num_threads(),
        cpu=(used.user + used.system) / seconds,
        seconds=seconds,
        state=stat.state,
        refusal=_refusal(pid),
    )


def _refusal(pid: int) -> str | None:
    error = ptrace.why_not(pid)
    return error.message if error is not None else None
