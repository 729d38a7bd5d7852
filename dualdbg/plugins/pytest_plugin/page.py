"""A page of memory in which a tests process says what it does, for somebody who reads it when that process is no more.

It is a file that is mapped, so to write into it costs as much as to assign a variable.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from ...system.private_files import new_file

_SIZE = 4096
CHILDREN, _BEGAN, PHASE, _TEXT = 0, 8, 16, 20
_HEAD = struct.Struct("<d")
_LENGTH = struct.Struct("<I")
_ALL = struct.Struct("<dBxxxI")  # from _BEGAN on, up to the text
_LONGEST = _SIZE - _TEXT - _LENGTH.size

STARTING, COLLECTING, SETUP, CALL, TEARDOWN, FINISHING = range(6)
PHASES = ("starting", "collecting", "setup", "call", "teardown", "finishing")


@dataclass(frozen=True)
class Doing:
    """What a tests process does: ``what`` is the node id of a test or a collector.

    ``began``: when that began, by the monotonic clock; 0 for something that may take as long as it likes.
    """

    phase: int
    what: str
    began: float

    @property
    def is_test(self) -> bool:
        """Whether a test runs, or what belongs to one."""
        return self.phase in (SETUP, CALL, TEARDOWN)


def path_of(folder: Path, pid: int) -> Path:
    """The file of process ``pid``."""
    return folder / f"{pid}.now"


class Page:
    """The page of this process, for writing. ``bytes`` at ``PHASE`` and ``CHILDREN`` are for whoever is in a hurry."""

    def __init__(self, folder: Path) -> None:
        path = path_of(folder, os.getpid())
        unfinished = folder / f".{path.name}"  # the parent may look at any moment
        descriptor = new_file(unfinished)
        try:
            os.ftruncate(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        unfinished.rename(path)
        self.bytes = _map(folder, os.getpid(), mmap.ACCESS_WRITE)

    def begin(self, phase: int, what: str, now: float) -> None:
        """Something else is done from now on."""
        data = what.encode("utf-8", "replace")[:_LONGEST]
        self.bytes[_BEGAN : _BEGAN + _ALL.size + len(data)] = _ALL.pack(now, phase, len(data)) + data

    def phase(self, phase: int) -> None:
        """The same test, its next phase."""
        self.bytes[PHASE] = phase

    def rest(self) -> None:
        """The test is over: until the next one no time is counted."""
        _HEAD.pack_into(self.bytes, _BEGAN, 0.0)

    def incidents(self) -> int:
        """How many children of this process have crashed."""
        return self.bytes[CHILDREN]


def read(folder: Path, pid: int) -> Doing | None:
    """What a process does; None where it has no page."""
    try:
        data = path_of(folder, pid).read_bytes()
    except FileNotFoundError:
        return None
    (length,) = _LENGTH.unpack_from(data, _TEXT)
    what = data[_TEXT + 4 : _TEXT + 4 + length].decode("utf-8", "replace")
    return Doing(data[PHASE], what, _HEAD.unpack_from(data, _BEGAN)[0])


def tell_of_end(folder: Path, pid: int) -> None:
    """The end of a process has been seen, and what is to be told of it is written down."""
    (folder / f"{pid}.ended").touch(0o600)


def end_is_told(folder: Path, what: str) -> bool:
    """Whether that is so for every process that has come to no end of ``what``."""
    pids = (int(path.stem) for path in folder.glob("[0-9]*.now"))
    doing = [pid for pid in pids if (found := read(folder, pid)) is not None and found.what == what]
    return all((folder / f"{pid}.ended").exists() for pid in doing)


def count_child(folder: Path, pid: int) -> None:
    """Tell a process that a child of its own has crashed."""
    page = _map(folder, pid, mmap.ACCESS_WRITE)
    page[CHILDREN] = (page[CHILDREN] + 1) % 256
    page.close()


def _map(folder: Path, pid: int, access: int) -> mmap.mmap:
    with open(path_of(folder, pid), "r+b") as file:
        return mmap.mmap(file.fileno(), _SIZE, access=access)
