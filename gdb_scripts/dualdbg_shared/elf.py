"""ELF files, read in place: headers, sections, segments, notes and the dynamic table.

Field names and numbers are those of the System V ABI (gABI, chapters 4 and 5) and ``<elf.h>``.
A file is mapped, never copied: what is not looked at costs nothing.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from .byte_search import Haystack
from .regular_files import open_regular

EM_X86_64 = 62
EM_AARCH64 = 183
MACHINES = {EM_X86_64: "x86-64", EM_AARCH64: "aarch64"}

SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 2, 3, 4, 7, 8, 11
SHT_GNU_VERDEF, SHT_GNU_VERNEED = 0x6FFFFFFD, 0x6FFFFFFE
SHF_ALLOC, SHF_EXECINSTR, SHF_COMPRESSED = 2, 4, 0x800
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_GNU_EH_FRAME = 1, 2, 3, 4, 0x6474E550
PF_X = 1
DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 10, 14, 15, 29
NT_GNU_BUILD_ID = 3

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_DYNAMIC = struct.Struct("<qQ")
_RELOCATION = struct.Struct("<QQq")  # Elf64_Rela

AnElfFile = TypeVar("AnElfFile", bound="ElfFile")


class ElfError(Exception):
    """A file that cannot be read, or that is not a 64-bit ELF file for a known machine; ``hint`` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class Section:
    """A section header. ``offset`` and ``size`` are of the file, ``address`` is a link-time address."""

    index: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int

    @property
    def end(self) -> int:
        """The file offset behind its last byte."""
        return self.offset + self.size

    @property
    def is_code(self) -> bool:
        """Whether it holds instructions."""
        return bool(self.flags & SHF_EXECINSTR)


@dataclass(frozen=True)
class Segment:
    """A program header; addresses are link-time addresses, sizes bytes."""

    type: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    alignment: int


class ElfFile:
    """A 64-bit little-endian ELF file for x86-64 or aarch64.

    ``path`` is where it was read from (a description for one that was read from memory), ``modified`` the file's
    modification time in nanoseconds. Every read is checked against the size of the file: for a cut-off or garbled file
    it raises :attr:`failure`, a class of errors that a subclass can choose (made from a message and a hint).
    """

    failure: type[Exception] = ElfError

    def __init__(self, data: bytes | mmap.mmap, path: str, status: os.stat_result | None = None) -> None:
        self.path = path
        self.modified = status.st_mtime_ns if status is not None else 0
        self._identity = (status.st_dev, status.st_ino) if status is not None else None
        self.data = memoryview(data)
        self.size = len(self.data)
        self._buffer = data
        if self.size < HEADER.size or bytes(self.data[:4]) != b"\x7fELF":
            raise self.failure(f"{path} is not an ELF file", "give the path of a shared library or a program")
        if self.data[4] != 2:
            raise self.failure(f"{path} is a 32-bit ELF file", "dualdbg debugs 64-bit processes only")
        if self.data[5] != 1:
            raise self.failure(f"{path} is a big-endian ELF file", "dualdbg reads little-endian files only")
        fields: tuple[int, ...] = HEADER.unpack_from(self.data)
        _, self.type, self.machine, _, self.entry, phoff, shoff, self.flags = fields[:8]
        _, phentsize, phnum, shentsize, shnum, shstrndx = fields[8:]
        if self.machine not in MACHINES:
            raise self.failure(
                f"{path} is for another kind of machine (ELF machine {self.machine})",
                "dualdbg debugs x86-64 and aarch64",
            )
        self.sections = self._read_sections(shoff, shentsize, shnum, shstrndx)
        self.segments = self._read_segments(phoff, phentsize, phnum)

    @classmethod
    def open(cls: type[AnElfFile], path: str | os.PathLike[str]) -> AnElfFile:
        """Map the file at ``path``. :attr:`failure` where it cannot be opened or is not such a file."""
        name = os.fspath(path)
        try:
            with open_regular(name) as file:
                status = os.fstat(file.fileno())
                if status.st_size == 0:
                    raise cls.failure(f"{name} is empty, so it is not an ELF file", "give another file")
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise cls.failure(*_unreadable(name, error)) from error
        return cls(data, name, status)

    @classmethod
    def from_bytes(cls: type[AnElfFile], data: bytes, name: str) -> AnElfFile:
        """An image that has no file, such as the vDSO read from the target's memory."""
        return cls(data, name)

    def check_unchanged(self) -> None:
        """:attr:`failure` when the file was overwritten in place since it was mapped.

        A mapping of a file that was cut short kills the reader with SIGBUS, so this is asked before
        anything is searched. A file that was replaced by a new one does no harm: the old one stays mapped.
        """
        if not isinstance(self._buffer, mmap.mmap):
            return
        try:
            status = Path(self.path).stat()
        except OSError:
            return
        same_file = (status.st_dev, status.st_ino) == self._identity
        if self._buffer.size() < self.size or (same_file and status.st_mtime_ns != self.modified):
            raise self.failure(
                f"{self.path} was overwritten while it was in use",
                "restart the target, which may run a mixture of the old and the new file",
            )

    @property
    def is_on_disk(self) -> bool:
        """Whether its path still leads to the file that was mapped."""
        try:
            status = Path(self.path).stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    # -- reading -----------------------------------------------------------------------------

    def garbled(self, what: str) -> Exception:
        """The exception for a file that is cut off or garbled; ``what`` says where."""
        return self.failure(
            f"{self.path} is cut off or garbled: {what}", "reinstall or rebuild it, then try again"
        )

    def bytes_at(self, offset: int, size: int) -> bytes:
        """``size`` bytes at a file offset. An empty part may be said to lie anywhere, as in files of debug info."""
        if size == 0:
            return b""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise self.garbled(f"bytes {offset:#x} to {offset + size:#x} are outside of the file")
        return bytes(self.data[offset : offset + size])

    def unpack(self, form: struct.Struct, offset: int) -> tuple[int, ...]:
        """The numbers of a structure at a file offset. Raises :meth:`garbled` outside of the file."""
        if offset < 0 or offset + form.size > self.size:
            raise self.garbled(f"offset {offset:#x} is outside of the file")
        return form.unpack_from(self.data, offset)

    def string_at(self, offset: int, limit: int) -> str:
        """The zero-terminated string at a file offset; ``limit`` is the end of its table."""
        return self.raw_string_at(offset, limit).decode("utf-8", "replace")

    def raw_string_at(self, offset: int, limit: int) -> bytes:
        """The string at a file offset, which ends before ``limit``. Raises :meth:`garbled`."""
        if not 0 <= offset < limit <= self.size:
            raise self.garbled(f"a string at {offset:#x} is outside of its table")
        end = self._buffer.find(b"\0", offset, limit)
        if end < 0:
            raise self.garbled(f"the string at {offset:#x} has no end")
        return bytes(self.data[offset:end])

    def contents(self, section: Section) -> bytes:
        """The bytes of a section (a copy); nothing for one without bits in the file."""
        if section.type == SHT_NOBITS:
            return b""
        return self.bytes_at(section.offset, section.size)

    def view(self, section: Section) -> memoryview:
        """The bytes of a section in place."""
        if section.type == SHT_NOBITS:
            return self.data[:0]
        if section.end > self.size:
            raise self.garbled(f"section {section.name} ends outside of the file")
        return self.data[section.offset : section.end]

    def find_all(self, needle: bytes, start: int, end: int) -> Iterator[int]:
        """File offsets in [start, end) at which ``needle`` stands, ascending."""
        if not needle or start < 0 or end > self.size:
            raise self.garbled(f"the range {start:#x} to {end:#x} is outside of the file")
        return self._haystack.find_all(needle, start, end)

    def find(self, needle: bytes, start: int, end: int) -> int:
        """The first file offset in [start, end) at which ``needle`` stands; -1 when it does not."""
        return self._buffer.find(needle, start, end)

    def find_back(self, needle: bytes, start: int, end: int) -> int:
        """The last file offset in [start, end) at which ``needle`` stands; ``start - 1`` when it does not."""
        found = self._buffer.rfind(needle, start, end)
        return found if found >= 0 else start - 1

    @cached_property
    def _haystack(self) -> Haystack:
        return Haystack(self._buffer)

    # -- tables ------------------------------------------------------------------------------

    def _read_sections(self, offset: int, entry_size: int, count: int, names_index: int) -> list[Section]:
        if offset == 0:
            return []
        if entry_size != SECTION.size:
            raise self.garbled(f"section headers of {entry_size} bytes")
        first = self.unpack(SECTION, offset)
        if count == 0:  # too many for the header: the numbers are in section 0 (gABI, "ELF Header")
            count = first[5]
        if names_index == 0xFFFF:
            names_index = first[6]
        if offset + count * entry_size > self.size or names_index >= count:
            raise self.garbled("its section headers are outside of the file")
        raw = [self.unpack(SECTION, offset + i * entry_size) for i in range(count)]
        names, names_end = raw[names_index][4], raw[names_index][4] + raw[names_index][5]
        sections = []
        for index, (name, kind, flags, address, at, size, link, info, align, entry) in enumerate(raw):
            text = self.string_at(names + name, names_end) if index else ""
            sections.append(Section(index, text, kind, flags, address, at, size, link, info, align, entry))
        return sections

    def _read_segments(self, offset: int, entry_size: int, count: int) -> list[Segment]:
        if offset == 0 or count == 0:
            return []
        if entry_size != _SEGMENT.size:
            raise self.garbled(f"program headers of {entry_size} bytes")
        segments = []
        for i in range(count):
            kind, flags, at, address, _, in_file, in_memory, align = self.unpack(
                _SEGMENT, offset + i * entry_size
            )
            segments.append(Segment(kind, flags, at, address, in_file, in_memory, align))
        return segments

    @cached_property
    def _sections_by_name(self) -> dict[str, Section]:
        return {section.name: section for section in reversed(self.sections)}

    def section(self, name: str) -> Section | None:
        """The section of this name, if the file has it."""
        return self._sections_by_name.get(name)

    def relocations(self, section: Section | None) -> Iterator[tuple[int, int, int, int]]:
        """The rows of a section of type SHT_RELA: place, type, index of the symbol (0: none), addend.

        The place is a link-time address. None has no rows.
        """
        if section is None:
            return
        if section.size % _RELOCATION.size:
            raise self.garbled(f"{section.name} is not a whole number of relocations")
        for place, info, addend in _RELOCATION.iter_unpack(self.view(section)):
            yield place, info & 0xFFFFFFFF, info >> 32, addend

    def loads(self) -> list[Segment]:
        """The segments that are mapped (PT_LOAD)."""
        return [segment for segment in self.segments if segment.type == PT_LOAD]

    def offset_of(self, address: int) -> int | None:
        """The file offset of a link-time address; None where no segment has it in the file."""
        for segment in self.loads():
            if segment.address <= address < segment.address + segment.file_size:
                return address - segment.address + segment.offset
        return None

    # -- facts -------------------------------------------------------------------------------

    @cached_property
    def build_id(self) -> str | None:
        """The GNU build-id in hex, from the notes of a segment or a section."""
        for segment in self.segments:
            if segment.type == PT_NOTE:
                found = self._build_id_in(segment.offset, segment.file_size)
                if found:
                    return found
        for section in self.sections:
            if section.type == SHT_NOTE:
                found = self._build_id_in(section.offset, section.size)
                if found:
                    return found
        return None

    def _build_id_in(self, offset: int, size: int) -> str | None:
        notes = self.bytes_at(offset, size) if offset + size <= self.size else b""
        return build_id_of_notes(notes)

    @cached_property
    def dynamic(self) -> list[tuple[int, int]]:
        """The entries (tag, value) of the dynamic table."""
        for segment in self.segments:
            if segment.type == PT_DYNAMIC:
                raw = self.bytes_at(segment.offset, segment.file_size)
                entries = []
                for tag, value in _DYNAMIC.iter_unpack(raw[: len(raw) // _DYNAMIC.size * _DYNAMIC.size]):
                    if tag == 0:
                        break
                    entries.append((tag, value))
                return entries
        return []

    def _dynamic_strings(self, wanted: int) -> list[str]:
        values = dict(self.dynamic)
        if DT_STRTAB not in values or DT_STRSZ not in values:
            return []
        offset = self.offset_of(values[DT_STRTAB])
        if offset is None:  # a split debug file keeps the table's headers but not its bytes
            return []
        limit = offset + values[DT_STRSZ]
        return [self.string_at(offset + value, limit) for tag, value in self.dynamic if tag == wanted]

    @cached_property
    def needed(self) -> list[str]:
        """DT_NEEDED: the names of the libraries this one needs, in order."""
        return self._dynamic_strings(DT_NEEDED)

    @cached_property
    def soname(self) -> str | None:
        names = self._dynamic_strings(DT_SONAME)
        return names[0] if names else None

    @cached_property
    def rpath(self) -> list[str]:
        return [part for text in self._dynamic_strings(DT_RPATH) for part in text.split(":") if part]

    @cached_property
    def runpath(self) -> list[str]:
        return [part for text in self._dynamic_strings(DT_RUNPATH) for part in text.split(":") if part]

    @cached_property
    def interpreter(self) -> str | None:
        """The dynamic loader that a program names (PT_INTERP)."""
        for segment in self.segments:
            if segment.type == PT_INTERP:
                return self.string_at(segment.offset, segment.offset + segment.file_size)
        return None

    @property
    def has_symtab(self) -> bool:
        """True when .symtab is there: local functions have names too."""
        section = self.section(".symtab")
        return section is not None and section.type == SHT_SYMTAB and section.size > 0

    @property
    def has_debug_info(self) -> bool:
        """True when DWARF is in this file, so that gdb can show lines and variables."""
        return any(
            (section := self.section(name)) is not None and section.type != SHT_NOBITS and section.size > 0
            for name in (".debug_info", ".zdebug_info")
        )

    @cached_property
    def debuglink(self) -> tuple[str, int] | None:
        """.gnu_debuglink: the file name of the split debug file, and the CRC-32 of its contents."""
        section = self.section(".gnu_debuglink")
        if section is None or section.size < 8:
            return None
        name = self.string_at(section.offset, section.end)
        (crc,) = struct.unpack_from("<I", self.contents(section), section.size - 4)
        return name, crc


def build_id_of_notes(notes: bytes) -> str | None:
    """The GNU build-id among the notes of a segment (4-byte alignment, gABI "Note Section")."""
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        name_at = at + 12
        description_at = name_at + (name_size + 3) // 4 * 4
        if kind == NT_GNU_BUILD_ID and notes[name_at : name_at + 4] == b"GNU\0":
            description = notes[description_at : description_at + size]
            return description.hex() if len(description) == size and size else None
        at = description_at + (size + 3) // 4 * 4
    return None


def _unreadable(path: str, error: OSError) -> tuple[str, str]:
    hints = {
        errno.ENOENT: "check the path; a process may still run a library that is no longer on disk",
        errno.EACCES: "your user may not read it: run as its owner, or ask for read permission",
        errno.EISDIR: "give the path of a file",
        errno.ENODEV: "give the path of an ordinary file",
    }
    return f"cannot read {path}: {error.strerror}", hints.get(error.errno or 0, "")
