"""Who has the lock of a file that a thread waits for: flock(2), fcntl(2), and SQLite's databases.

/proc/locks (proc(5)) lists a lock, and below it with an arrow those who wait for it. Of a lock by flock it has the
process that took it, and leaves it out when that has ended; who has it now /proc/PID/fdinfo tells. A stop of a waiting
thread takes it out of the list, so it is read when the processes run on. SQLite's bytes:
https://sqlite.org/lockingv3.html and walformat.html.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..facts import Descriptor, LockHolder, ProcessReport, SystemCall, ThreadReport
from ..sqlite_waits import waits_in_sqlite
from .procfs import descriptor_target, read_process

_SETLKW = 7  # fcntl.h, the same for all processors that we know
_SHARED_MEMORY = "-shm"  # beside a database in WAL mode
_FIRST_BYTE = 0x40000000  # that SQLite locks in a database


@dataclass(frozen=True)
class _Row:
    """A row of /proc/locks. ``number`` is shared by a lock and those who wait for it."""

    number: str
    waits: bool
    kind: str  # FLOCK or POSIX
    writes: bool
    pid: int
    inode: int
    start: int


def with_lock_holders(reports: Sequence[ProcessReport]) -> list[ProcessReport]:
    """The same reports. Who waits for the lock of a file tells which processes have it."""
    waiting = [(report.pid, thread) for report in reports for thread in report.threads if _may_wait(thread)]
    if not waiting:
        return list(reports)
    rows = list(_rows())
    found = {
        (pid, thread.thread.tid): _of_database(pid, thread.system_call, rows)
        if waits_in_sqlite(thread)
        else _of_file(pid, thread.system_call, rows)
        for pid, thread in waiting
        if thread.system_call is not None
    }
    return [
        replace(
            report,
            threads=tuple(
                replace(thread, system_call=found.get((report.pid, thread.thread.tid), thread.system_call))
                for thread in report.threads
            ),
        )
        for report in reports
    ]


def _may_wait(thread: ThreadReport) -> bool:
    call = thread.system_call
    if call is None:
        return False
    if call.name == "fcntl":
        return call.descriptor is not None and call.arguments[1] == _SETLKW
    return call.name == "flock" or waits_in_sqlite(thread)


def _rows() -> Iterator[_Row]:
    try:
        with open("/proc/locks", encoding="ascii") as file:
            lines = file.readlines()
    except OSError:
        return
    for line in lines:
        number, _, rest = line.partition(":")
        waits, words = "->" in rest, rest.replace("->", "").split()
        if len(words) == 7 and words[0] in ("FLOCK", "POSIX"):
            kind, _, access, pid, place, start, _ = words
            yield _Row(
                number, waits, kind, access == "WRITE", int(pid), int(place.rpartition(":")[2]), int(start)
            )


def _of_file(pid: int, call: SystemCall, rows: Sequence[_Row]) -> SystemCall:
    descriptor = call.descriptor
    inode = None if descriptor is None else _inode(pid, descriptor.number)
    if descriptor is None or inode is None:
        return call
    kind = "FLOCK" if call.name == "flock" else "POSIX"
    numbers = {
        row.number for row in rows if row.waits and row.inode == inode and row.kind == kind and row.pid == pid
    }
    pids = [row.pid for row in rows if not row.waits and row.number in numbers and row.pid > 0]
    if call.name == "flock":
        # The lock is of whoever has the open file, by a fork too; the row has the pid of who has asked for it.
        pids = list(_sharing(pid, descriptor.number, inode)) or pids
    return replace(call, descriptor=replace(descriptor, lock_holders=_holders(pids)))


def _of_database(pid: int, call: SystemCall, rows: Sequence[_Row]) -> SystemCall:
    """With the database for which SQLite waits, where the locks tell one, and who has it locked."""
    found: list[Descriptor] = []
    for number, inode, target in _files(pid):
        is_wal = target.endswith(_SHARED_MEMORY)
        locks = [
            row
            for row in rows
            if row.kind == "POSIX" and not row.waits and row.inode == inode
            if is_wal or row.start >= _FIRST_BYTE
        ]
        others = [row for row in locks if row.pid != pid]
        writers = [row.pid for row in others if row.writes]
        writes_itself = any(row.writes and row.pid == pid for row in locks)
        pids = writers or ([row.pid for row in others] if writes_itself and not is_wal else [])
        if pids:
            database = target.removesuffix(_SHARED_MEMORY)
            found.append(Descriptor(number, database, lock_holders=_holders(pids)))
    return replace(call, descriptor=found[0]) if len({each.target for each in found}) == 1 else call


def _holders(pids: Sequence[int]) -> tuple[LockHolder, ...]:
    return tuple(
        LockHolder(each, facts.command if (facts := read_process(each)) is not None else None)
        for each in dict.fromkeys(pids)
    )


def _inode(pid: int, number: int) -> int | None:
    """As the file system itself numbers it: stat(2) may tell another one (overlayfs). Linux 5.14 and later."""
    try:
        with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as file:
            for line in file:
                if line.startswith("ino:"):
                    return int(line.split()[1])
        return os.stat(f"/proc/{pid}/fd/{number}").st_ino
    except OSError:
        return None


def _files(pid: int) -> Iterator[tuple[int, int, str]]:
    """Descriptor, inode and path of each regular file that a process has open."""
    try:
        numbers = [int(name) for name in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return
    for number in numbers:
        try:
            is_file = stat.S_ISREG(os.stat(f"/proc/{pid}/fd/{number}").st_mode)
        except OSError:
            continue  # it was closed
        inode, target = _inode(pid, number), descriptor_target(pid, number)
        if is_file and inode is not None and target is not None:
            yield number, inode, target


def _sharing(pid: int, number: int, inode: int) -> Iterator[int]:
    """The processes with a descriptor that has the file locked by flock, as far as we may look."""
    path = descriptor_target(pid, number)
    for name in filter(str.isdigit, os.listdir("/proc") if path is not None else ()):
        try:
            numbers = os.listdir(f"/proc/{name}/fd")
        except OSError:
            continue  # it belongs to another user, or has ended
        for each in numbers:
            if descriptor_target(int(name), int(each)) == path and _has_locked(name, each, inode):
                yield int(name)


def _has_locked(pid: str, number: str, inode: int) -> bool:
    try:
        with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as file:
            words = [line.split() for line in file if line.startswith("lock:")]
    except OSError:
        return False
    # lock: 1: FLOCK ADVISORY WRITE 4711 fe:00:3195783 0 EOF
    return any(row[2] == "FLOCK" and row[6].endswith(f":{inode}") for row in words if len(row) > 6)
