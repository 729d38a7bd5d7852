"""Who has the lock of a file that a thread waits for: flock(2), fcntl(2), and SQLite's databases.

/proc/locks (proc(5)) lists a lock, and below it with an arrow those who wait for it. Of a lock by flock it has the
process that took it, and leaves it out when that has ended; of a lock of an open file description (F_OFD_SETLKW) it has
no process at all, neither of who has it nor of who waits. Who has those now /proc/PID/fdinfo tells, which lists the
locks of an open file (fs/locks.c, show_fd_locks). A stop of a waiting thread takes it out of the list, so it is read
when the thread has run on to where it waits. SQLite's bytes: https://sqlite.org/lockingv3.html and walformat.html.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...errors import DualdbgError
from ...shared.proc_files import read_stat
from ...system.patience import patient
from ..facts import Descriptor, LockHolder, ProcessReport, SystemCall, ThreadReport
from ..sqlite_waits import waits_in_sqlite
from .memory import ProcessMemory
from .procfs import descriptor_target, read_process

_SETLKW, _OFD_SETLKW = 7, 38  # fcntl.h, the same for all processors that we know
_REQUEST = struct.Struct("@hhqq")  # struct flock: l_type, l_whence, l_start, l_len
_WRITES = {0: False, 1: True}  # F_RDLCK, F_WRLCK
_LAST = (1 << 63) - 1  # OFFSET_MAX, which /proc/locks calls EOF
_KCMP = {"x86_64": 312, "aarch64": 272}  # asm/unistd_64.h, asm-generic/unistd.h
_KCMP_FILE = 0
_TO_WAIT_AGAIN = patient(1.0)  # seconds, in which a thread that was stopped is given a processor
_BETWEEN_LOOKS = 0.0005  # seconds
_libc = ctypes.CDLL(None)
_SHARED_MEMORY = "-shm"  # beside a database in WAL mode
_FIRST_BYTE = 0x40000000  # that SQLite locks in a database


@dataclass(frozen=True)
class _Part:
    """The bytes of a file that a lock is for. ``end`` is the last one, None for all that there will ever be."""

    writes: bool
    start: int
    end: int | None


@dataclass(frozen=True)
class _Row:
    """A row of /proc/locks, or of a descriptor's fdinfo. ``number`` is shared by a lock and those who wait for it."""

    number: str
    waits: bool
    kind: str  # FLOCK, POSIX or OFDLCK
    part: _Part
    pid: int  # -1 of OFDLCK
    place: str  # device and inode


def with_lock_holders(reports: Sequence[ProcessReport]) -> list[ProcessReport]:
    """The same reports. Who waits for the lock of a file tells which processes have it."""
    waiting = [(report.pid, thread) for report in reports for thread in report.threads if _may_wait(thread)]
    if not waiting:
        return list(reports)
    end = time.monotonic() + _TO_WAIT_AGAIN
    for pid, thread in waiting:
        while _runs_on(pid, thread.thread.tid) and time.monotonic() < end:
            time.sleep(_BETWEEN_LOOKS)
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


def _runs_on(pid: int, tid: int) -> bool:
    """Whether a thread is not yet back in its system call after a stop."""
    try:
        return read_stat(f"/proc/{pid}/task/{tid}/stat").state in "Rt"
    except OSError:  # it has ended
        return False


def _may_wait(thread: ThreadReport) -> bool:
    call = thread.system_call
    if call is None:
        return False
    if call.name == "fcntl":
        return call.descriptor is not None and call.arguments[1] in (_SETLKW, _OFD_SETLKW)
    return call.name == "flock" or waits_in_sqlite(thread)


def _rows() -> Iterator[_Row]:
    try:
        with open("/proc/locks", encoding="ascii") as file:
            lines = file.readlines()
    except OSError:
        return
    yield from filter(None, map(_row, lines))


def _row(line: str) -> _Row | None:
    """``1: -> FLOCK ADVISORY WRITE 4711 fe:00:3195783 0 EOF``; None of a lease, and of what has no file."""
    number, _, rest = line.partition(":")
    waits, words = "->" in rest, rest.replace("->", "").split()
    if len(words) != 7 or words[0] not in ("FLOCK", "POSIX", "OFDLCK"):
        return None
    kind, _, access, pid, place, start, end = words
    part = _Part(access == "WRITE", int(start), None if end == "EOF" else int(end))
    return _Row(number.strip(), waits, kind, part, int(pid), place)


def _of_file(pid: int, call: SystemCall, rows: Sequence[_Row]) -> SystemCall:
    descriptor = call.descriptor
    place = None if descriptor is None else _place(pid, descriptor.number, _devices(pid))
    if descriptor is None or place is None:
        return call
    if call.name == "flock":
        waiting = [row for row in rows if row.waits and row.kind == "FLOCK" and row.pid == pid]
        locks = _locks_of(waiting, place, rows)
        # The lock is of whoever has the open file, by a fork too; the row has the pid of who has asked for it.
        pids = [each for each, _ in _having(pid, descriptor.number, place, lambda row: row.kind == "FLOCK")]
        pids = pids or [row.pid for row in locks if row.pid > 0]
    else:
        locks = _locks_of(_requests(pid, call, rows), place, rows)
        pids = [row.pid for row in locks if row.kind == "POSIX" and row.pid > 0]
        parts = {row.part for row in locks if row.kind == "OFDLCK"}
        if parts:
            pids += _of_open_files(pid, call, descriptor.number, place, parts)
    return replace(call, descriptor=replace(descriptor, lock_holders=_holders(pids)))


def _locks_of(waiting: Sequence[_Row], place: str, rows: Sequence[_Row]) -> list[_Row]:
    """The locks that requests wait for."""
    numbers = {row.number for row in waiting if row.place == place}
    return [row for row in rows if not row.waits and row.number in numbers]


def _requests(pid: int, call: SystemCall, rows: Sequence[_Row]) -> list[_Row]:
    """The rows of a process that waits in fcntl. That of an open file has no process: it is known by what was asked
    for. Another open file that asks for the same waits for the same locks, but for those that one of both has."""
    if call.arguments[1] == _SETLKW:
        return [row for row in rows if row.waits and row.kind == "POSIX" and row.pid == pid]
    part = _asked_for(pid, call.arguments[2])
    return [row for row in rows if row.waits and row.kind == "OFDLCK" and row.part == part]


def _asked_for(pid: int, address: int) -> _Part | None:
    """What fcntl was given, where that is counted from the beginning of the file."""
    try:
        kind, whence, start, size = _REQUEST.unpack(ProcessMemory(pid).read(address, _REQUEST.size))
    except DualdbgError:
        return None  # it has ended, or may not be read
    if whence != os.SEEK_SET or kind not in _WRITES:
        return None
    if size < 0:  # the bytes before
        return _Part(_WRITES[kind], start + size, start - 1)
    end = start + size - 1
    return _Part(_WRITES[kind], start, end if size and end < _LAST else None)


def _of_open_files(pid: int, call: SystemCall, number: int, place: str, parts: set[_Part]) -> Iterator[int]:
    """The processes with an open file that has one of these parts locked. An open file never waits for itself: who
    waits to write may have locked the same part to read already, as others have."""
    for each, descriptor in _having(
        pid, number, place, lambda row: row.kind == "OFDLCK" and row.part in parts
    ):
        if call.arguments[1] == _SETLKW or _is_another_open_file(pid, number, each, descriptor):
            yield each


def _is_another_open_file(pid: int, number: int, other: int, descriptor: int) -> bool:
    """By kcmp(2): 0 of the same one, below it where that cannot be told."""
    call = _KCMP.get(os.uname().machine)
    return call is not None and _libc.syscall(call, pid, other, _KCMP_FILE, number, descriptor) > 0


def _of_database(pid: int, call: SystemCall, rows: Sequence[_Row]) -> SystemCall:
    """With the database for which SQLite waits, where the locks tell one, and who has it locked."""
    found: list[Descriptor] = []
    for number, place, target in _files(pid):
        is_wal = target.endswith(_SHARED_MEMORY)
        locks = [
            row
            for row in rows
            if row.kind == "POSIX" and not row.waits and row.place == place
            if is_wal or row.part.start >= _FIRST_BYTE
        ]
        others = [row for row in locks if row.pid != pid]
        writers = [row.pid for row in others if row.part.writes]
        writes_itself = any(row.part.writes and row.pid == pid for row in locks)
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


def _devices(pid: int) -> dict[str, str]:
    """The device of each mount of a process by its number: ``fe:00``, as /proc/locks has it."""
    try:
        with open(f"/proc/{pid}/mountinfo", encoding="utf-8", errors="replace") as file:
            rows = [line.split(maxsplit=3) for line in file]
    except OSError:
        return {}
    return {number: _device(*map(int, device.split(":"))) for number, _, device, _ in rows}


def _device(major: int, minor: int) -> str:
    return f"{major:02x}:{minor:02x}"


def _place(pid: int, number: int, devices: Mapping[str, str]) -> str | None:
    """Device and inode of an open file, ``fe:00:3195783``, as the file system itself numbers them: stat(2) may tell
    other ones (overlayfs, btrfs). Linux 5.14 and later."""
    try:
        with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as file:
            told = {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
        device, inode = devices.get(told.get("mnt_id", "")), told.get("ino")
        if device is None or inode is None:
            # It lies on a mount that the process does not see, or the kernel is older.
            found = os.stat(f"/proc/{pid}/fd/{number}")
            device = device or _device(os.major(found.st_dev), os.minor(found.st_dev))
            inode = inode or str(found.st_ino)
    except OSError:
        return None  # it was closed
    return f"{device}:{inode}"


def _files(pid: int) -> Iterator[tuple[int, str, str]]:
    """Descriptor, place and path of each regular file that a process has open."""
    try:
        numbers = [int(name) for name in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return
    devices = _devices(pid)
    for number in numbers:
        try:
            if not stat.S_ISREG(os.stat(f"/proc/{pid}/fd/{number}").st_mode):
                continue
        except OSError:
            continue  # it was closed
        place, target = _place(pid, number, devices), descriptor_target(pid, number)
        if place is not None and target is not None:
            yield number, place, target


def _having(pid: int, number: int, place: str, is_it: Callable[[_Row], bool]) -> Iterator[tuple[int, int]]:
    """The processes, as far as we may look, and their descriptors of the same file with such a lock."""
    path = descriptor_target(pid, number)
    for name in filter(str.isdigit, os.listdir("/proc") if path is not None else ()):
        try:
            numbers = os.listdir(f"/proc/{name}/fd")
        except OSError:
            continue  # it belongs to another user, or has ended
        for each in numbers:
            if descriptor_target(int(name), int(each)) != path:
                continue
            if any(row.place == place and is_it(row) for row in _locked(name, each)):
                yield int(name), int(each)


def _locked(pid: str, number: str) -> list[_Row]:
    """The locks of an open file: ``lock: 1: FLOCK ADVISORY WRITE 4711 fe:00:3195783 0 EOF``."""
    try:
        with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as file:
            lines = [line.partition(":")[2] for line in file if line.startswith("lock:")]
    except OSError:
        return []  # it was closed
    return [*filter(None, map(_row, lines))]
