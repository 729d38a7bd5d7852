"""Writes a core of a process that stands still: what the kernel would write, wherever cores are turned off.

ELF gABI, chapter 5; the notes are those of Linux (fs/binfmt_elf.c, linux/elfcore.h), and what is left out is what the
kernel leaves out by default (core(5), coredump_filter): code and data that the mapped files still have.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from ..shared import page_size
from ..shared.proc_files import read_stat, read_status
from ..snapshot.linux.memory import open_memory
from ..snapshot.linux.ptrace import NT_PRSTATUS, OF_ARM, regset
from ..system.private_files import new_file
from .tracer import Dying

_ET_CORE, _PT_LOAD, _PT_NOTE = 4, 1, 4
_MACHINES = {"x86_64": 62, "aarch64": 183}
_NT_FPREGSET, _NT_PRPSINFO, _NT_AUXV, _NT_FILE, _NT_SIGINFO = 2, 3, 6, 0x46494C45, 0x53494749
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_PIECE = 1 << 20  # bytes that are copied at once
_PAGE = page_size.of_this_machine()
_MANY = 0xFFFF  # of segments: e_phnum has 16 bits


@dataclass(frozen=True)
class _Area:
    """A row of /proc/PID/smaps. ``own``: it has pages that no file has."""

    start: int
    end: int
    access: str
    offset: int
    path: str
    own: bool = False

    @property
    def kept(self) -> int:
        """How many bytes of it a core holds."""
        if self.access[0] != "r" or self.path in ("[vvar]", "[vvar_vclock]", "[vsyscall]"):
            return 0
        if self.own or self.path == "[vdso]" or (self.access[3] == "s" and not self.path):
            return self.end - self.start
        return _PAGE if self.path and self.offset == 0 else 0  # the head of an ELF file names its build-id


def keep_core(folder: Path, dying: Dying, tids: Iterable[int], limit: int | None = None) -> Path:
    """Write ``folder``/core.PID of a process whose threads all stand still; returns its path.

    A name that is taken gets a number. Only the user may read it: it is all of the program's memory. Raises OSError;
    no file is left then. ``limit``: bytes above which none is written.
    """
    path, descriptor = _new(folder / f"core.{dying.pid}")
    memory = None
    try:
        memory = open_memory(dying.pid)
        areas = _areas(dying.pid)[: _MANY - 2]
        if limit is not None and sum(area.kept for area in areas) > limit:
            raise OSError(errno.EFBIG, f"its memory is larger than {limit >> 20} MB")
        notes = _notes(dying, [dying.tid, *(tid for tid in tids if tid != dying.tid)], areas)
        begin = _HEADER.size + _SEGMENT.size * (1 + len(areas))
        machine = _MACHINES[os.uname().machine]
        ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
        head = _HEADER.pack(
            ident,
            _ET_CORE,
            machine,
            1,
            0,
            _HEADER.size,
            0,
            0,
            _HEADER.size,
            _SEGMENT.size,
            1 + len(areas),
            0,
            0,
            0,
        )
        table = _SEGMENT.pack(_PT_NOTE, 0, begin, 0, 0, len(notes), 0, 4)
        at = first = -(-(begin + len(notes)) // _PAGE) * _PAGE
        for area in areas:
            flags = sum(bit for letter, bit in (("r", 4), ("w", 2), ("x", 1)) if letter in area.access)
            size = area.end - area.start
            table += _SEGMENT.pack(_PT_LOAD, flags, at, area.start, 0, area.kept, size, _PAGE)
            at += area.kept
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(head + table + notes)
            at = first
            for area in areas:
                _copy(memory, area, file.fileno(), at)
                at += area.kept
            file.flush()
            os.truncate(descriptor, at)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
        if memory is not None:
            os.close(memory)
    return path


def _new(path: Path) -> tuple[Path, int]:
    for candidate in chain([path], (path.with_name(f"{path.name}.{number}") for number in count(2))):
        try:
            return candidate, new_file(candidate)
        except FileExistsError:
            continue
    raise AssertionError("there is no last number")


def _copy(memory: int, area: _Area, descriptor: int, at: int) -> None:
    """Pages of zeros, and those that cannot be read, become holes of the file."""
    for offset in range(0, area.kept, _PIECE):
        size = min(_PIECE, area.kept - offset)
        try:
            data = os.pread(memory, size, area.start + offset)
        except OSError:
            continue  # a page of a device, or beyond the end of a file that was cut
        if data.strip(b"\0"):
            os.pwrite(descriptor, data, at + offset)


def _areas(pid: int) -> list[_Area]:
    """The mappings of a process. smaps(5) says which of their pages are the process's own."""
    areas: list[_Area] = []
    with open(f"/proc/{pid}/smaps", "rb") as file:
        for raw in file:
            words = raw.split(None, 5)
            if words[0] in (b"Anonymous:", b"Swap:"):
                last = areas[-1]
                if int(words[1]) and last.access[3] == "p":
                    areas[-1] = replace(last, own=True)
            elif words[0] == b"VmFlags:" and b"dd" in raw.split():  # MADV_DONTDUMP: a sanitizer's terabytes
                areas[-1] = replace(areas[-1], access="----")
            elif not words[0].endswith(b":"):
                start, _, end = words[0].partition(b"-")
                path = os.fsdecode(words[5].rstrip(b"\n")) if len(words) > 5 else ""
                access = words[1].decode()
                areas.append(_Area(int(start, 16), int(end, 16), access, int(words[2], 16), path))
    return areas


def _notes(dying: Dying, tids: list[int], areas: list[_Area]) -> bytes:
    notes = b""
    for number, tid in enumerate(tids):
        registers = regset(tid, NT_PRSTATUS, 512)
        if registers is None:
            continue
        notes += _note(NT_PRSTATUS, _thread_status(dying, tid, registers))
        if number == 0:  # those of the process stand behind its first thread, as the kernel has them
            notes += _note(_NT_PRPSINFO, _process_information(dying.pid))
            notes += _note(_NT_SIGINFO, dying.raw)
            with open(f"/proc/{dying.pid}/auxv", "rb") as file:
                notes += _note(_NT_AUXV, file.read())
            notes += _note(_NT_FILE, _files(areas))
        for kind in (_NT_FPREGSET, *OF_ARM):
            found = regset(tid, kind, 4096)
            if found is not None:
                notes += _note(kind, found, b"LINUX" if kind in OF_ARM else b"CORE")
    return notes


def _note(kind: int, body: bytes, owner: bytes = b"CORE") -> bytes:
    owner += b"\0"
    name, padded = (text + b"\0" * (-len(text) % 4) for text in (owner, body))
    return struct.pack("<III", len(owner), len(body), kind) + name + padded


def _thread_status(dying: Dying, tid: int, registers: bytes) -> bytes:
    """``struct elf_prstatus``."""
    status = read_status(f"/proc/{dying.pid}/task/{tid}/status")
    pending, blocked = (int(status[name], 16) for name in ("SigPnd", "SigBlk"))
    number, code, error = struct.unpack_from("<iii", dying.raw)[0], 0, 0
    head = struct.pack("<iiihxxQQiiii", number, code, error, dying.info.number, pending, blocked, tid,
                       int(status["PPid"]), 0, 0)  # fmt: skip
    return head.ljust(112, b"\0") + registers + struct.pack("<ii", 1, 0)


def _process_information(pid: int) -> bytes:
    """``struct elf_prpsinfo``: the name and the command line are what debuggers show."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read().replace(b"\0", b" ").strip()
    stat = read_stat(f"/proc/{pid}/stat")
    head = struct.pack("<bcbbxxxxQIIiiii", 0, b"R", 0, 0, 0, os.getuid(), os.getgid(), pid, stat.parent, 0, 0)
    return head + os.fsencode(stat.name)[:15].ljust(16, b"\0") + words[:79].ljust(80, b"\0")


def _files(areas: list[_Area]) -> bytes:
    """NT_FILE: which files are mapped where."""
    mapped = [area for area in areas if area.path.startswith("/")]
    rows = b"".join(struct.pack("<QQQ", area.start, area.end, area.offset // _PAGE) for area in mapped)
    names = b"".join(os.fsencode(area.path) + b"\0" for area in mapped)
    return struct.pack("<QQ", len(mapped), _PAGE) + rows + names
