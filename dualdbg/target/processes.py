"""Which processes are there, which of them are Python, and who started whom."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from dualdbg.errors import TargetGone

_PYTHON_EXECUTABLE = re.compile(r"python(\d(\.\d+)?t?d?)?$")
_LIBPYTHON = re.compile(r"/libpython3(\.\d+)?[a-z]*\.so")


@dataclass(frozen=True)
class ProcessInfo:
    """One process. ``python`` is the file that holds the interpreter: the executable, or a mapped libpython.

    ``state`` is the kernel's word (running, sleeping, disk-sleep, stopped, tracing-stop, zombie); ``tracer`` the
    pid of its debugger, 0 for none; ``started`` seconds since the epoch. What we may not read is None.
    """

    pid: int
    parent: int
    name: str
    command: tuple[str, ...]
    user: str
    state: str
    threads: int
    started: float
    tracer: int
    python: str | None


def describe(pid: int) -> ProcessInfo:
    """What is known about a process. Raises TargetGone when there is none."""
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            return ProcessInfo(
                pid=pid,
                parent=process.ppid(),
                name=process.name(),
                command=_command(process),
                user=process.username(),
                state=process.status(),
                threads=process.num_threads(),
                started=process.create_time(),
                tracer=_tracer(pid),
                python=python_of(pid),
            )
    except psutil.NoSuchProcess as error:
        raise TargetGone(f"there is no process {pid}", "dualdbg ps lists the Python processes") from error


def descendants(pid: int) -> list[ProcessInfo]:
    """The children of a process, theirs and so on, parents before children; empty when it is gone."""
    try:
        children = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return _describe_all(child.pid for child in children)


def python_processes(user: int | None = None) -> list[ProcessInfo]:
    """The Python processes that can be seen, in the order of their start; of one user where one is given."""
    found = _describe_all(pid for pid in psutil.pids() if user is None or _owner(pid) == user)
    mine = os.getpid()
    return sorted((each for each in found if each.python and each.pid != mine), key=lambda each: each.started)


def python_of(pid: int) -> str | None:
    """The file that holds the Python interpreter of a process, None when it has none or may not be read."""
    try:
        executable = str(Path(f"/proc/{pid}/exe").readlink()).removesuffix(" (deleted)")
        if _PYTHON_EXECUTABLE.search(executable):
            return executable
        for line in Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape").splitlines():
            if _LIBPYTHON.search(line):
                return line.split(maxsplit=5)[5].removesuffix(" (deleted)")
    except OSError:  # it ended, or belongs to somebody else
        return None
    return None


def _describe_all(pids: Iterable[int]) -> list[ProcessInfo]:
    found = []
    for pid in pids:
        try:
            found.append(describe(pid))
        except TargetGone:  # it ended while we looked
            continue
    return found


def _command(process: psutil.Process) -> tuple[str, ...]:
    try:
        return tuple(process.cmdline())
    except (psutil.ZombieProcess, psutil.AccessDenied):
        return ()


def _owner(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None


def _tracer(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
        if line.startswith("TracerPid:"):
            return int(line.split()[1])
    return 0
