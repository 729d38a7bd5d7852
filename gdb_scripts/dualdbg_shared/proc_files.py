"""Files of /proc/PID, taken apart (proc(5)). What reads one raises OSError when the process or thread is gone."""

from __future__ import annotations

import os
from typing import Dict, List, NamedTuple

from .process_root import inside

DELETED = " (deleted)"  # behind the name of a file or a folder that was deleted since it was mapped or opened


def without_mark(path: str) -> str:
    """The path of a file or a folder as it was before it was deleted."""
    return path[: -len(DELETED)] if path.endswith(DELETED) else path


class Stat:
    """A file ``stat`` of a process or a thread.

    ``state`` is a letter; ``began`` are clock ticks since the machine did: no other process has its number and this
    time. ``used`` are clock ticks on a processor.
    """

    def __init__(self, text: str) -> None:
        end = text.rindex(")")  # the name may hold any character
        self.name = text[text.index("(") + 1 : end]
        self._rest = text[end + 1 :].split()  # from the third field on
        self.state = self._rest[0]
        self.parent = int(self._rest[1])
        self.used = int(self._rest[11]) + int(self._rest[12])
        self.began = int(self._rest[19])

    @property
    def has_ended(self) -> bool:
        """Whether it has ended; its parent may not know it yet."""
        return self.state in "ZX"

    @property
    def exit_status(self) -> int:
        """How one that has ended did, as a status of wait(2). 0 for who may not read its memory."""
        return int(self._rest[49])


def read_stat(path: str) -> Stat:
    """The file at ``path``, /proc/PID/stat or /proc/PID/task/TID/stat."""
    return Stat(read_short(path).decode("utf-8", "replace"))


def read_short(path: str) -> bytes:
    """The whole of a file of /proc that has less than a page. (A file object of Python takes four times as long.)"""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)


def stat_of(pid: int) -> Stat:
    """/proc/PID/stat."""
    return read_stat("/proc/%d/stat" % pid)


def is_stopped(pid: int) -> bool:
    """Whether job control has stopped the process (t would be a stop by a debugger); False for one that is gone."""
    try:
        return stat_of(pid).state == "T"
    except OSError:
        return False


def read_status(path: str) -> Dict[str, str]:
    """The rows of a file ``status`` of a process or a thread, by name."""
    with open(path, encoding="utf-8", errors="replace") as file:
        rows = [line.partition(":") for line in file]
    return {name: value.strip() for name, _, value in rows}


class Mapping(NamedTuple):
    """A row of /proc/PID/maps; ``path`` is empty for memory without a file, or a name such as ``[stack]``."""

    start: int
    end: int
    offset: int
    path: str
    mode: str = ""  # such as r-xp
    inode: int = 0  # 0 for memory without a file

    @property
    def is_code(self) -> bool:
        return "x" in self.mode


def read_maps(pid: int) -> str:
    """The text of /proc/PID/maps, for :func:`mappings`."""
    with open("/proc/%d/maps" % pid, "rb") as file:
        return os.fsdecode(file.read())


def mappings(text: str, link: str = "/") -> List[Mapping]:
    """The rows of /proc/PID/maps. ``link`` is the process's root_link(); the paths are those that it knows."""
    return [mapping(line, link) for line in lines_of_maps(text)]


def lines_of_maps(text: str) -> List[str]:
    """The lines of /proc/PID/maps."""
    # splitlines() would break a path at other characters too.
    return [line for line in text.split("\n") if line]


def mapping(line: str, link: str = "/") -> Mapping:
    """One row of :func:`mappings`."""
    fields = line.split(None, 5)
    start, _, end = fields[0].partition("-")
    path = inside(fields[5], link) if len(fields) > 5 else ""
    return Mapping(int(start, 16), int(end, 16), int(fields[2], 16), path, fields[1], int(fields[4]))
