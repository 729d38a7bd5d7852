"""Where functions start and end, from ``.eh_frame_hdr`` and ``.eh_frame``: right for stripped libraries too.

Layout: Linux Standard Base 5, "Exception Frames"; pointer encodings: "DWARF Exception Header Encoding".
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

from ...errors import SymbolError
from .elf_file import PT_GNU_EH_FRAME, SHT_NOBITS, ElfFile, Section

DW_EH_PE_omit = 0xFF
_PCREL = 0x10
_DATAREL_SDATA4 = 0x3B  # what every linker writes for the search table
_FORMATS = {
    0x00: "<Q",
    0x02: "<H",
    0x03: "<I",
    0x04: "<Q",
    0x0A: "<h",
    0x0B: "<i",
    0x0C: "<q",
}
_ENTRY = struct.Struct("<ii")


@dataclass(frozen=True)
class Fde:
    """A frame description entry: the code [start, end) and where the entry is in the file.

    ``size`` counts the entry with its length field; ``cie_offset`` is the file offset of its CIE;
    ``pointer_encoding`` says how the entry holds its addresses. ``address`` is where the entry is once it is loaded.
    """

    start: int
    end: int
    offset: int
    size: int
    cie_offset: int
    pointer_encoding: int
    address: int


class FrameTable:
    """The entries of ``.eh_frame``, by the sorted search table of ``.eh_frame_hdr``.

    A linker makes that when it is asked to, as gcc asks; where the file has none that can be searched it is made here.
    """

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf
        self.count = 0
        self._cie_encodings: dict[int, int] = {}
        self._entries: dict[int, Fde | None] = {}
        for segment in elf.segments:
            if segment.type == PT_GNU_EH_FRAME and segment.file_size >= 12:
                self._address = segment.address
                self._read_header(segment.offset, segment.file_size)
        section = elf.section(".eh_frame")
        if not self.count and section is not None and section.type != SHT_NOBITS:
            self._make_table(section)

    def _read_header(self, offset: int, size: int) -> None:
        header = self._elf.bytes_at(offset, min(size, 20))
        version, frame_encoding, count_encoding, table_encoding = header[:4]
        if version != 1 or table_encoding != _DATAREL_SDATA4 or count_encoding == DW_EH_PE_omit:
            return
        count_at = 4 + struct.calcsize(_FORMATS.get(frame_encoding & 0x0F, "<I"))
        count_format = _FORMATS.get(count_encoding & 0x0F, "<I")
        (count,) = struct.unpack_from(count_format, header, count_at)
        table = count_at + struct.calcsize(count_format)
        if count < 0 or table + count * _ENTRY.size > size or offset + size > self._elf.size:
            raise self._elf.garbled(".eh_frame_hdr does not hold its table")
        self.count = count
        self._table = self._elf.data[offset + table : offset + table + count * _ENTRY.size]

    def _make_table(self, section: Section) -> None:
        self._address, rows = section.address, []
        at, end = section.offset, section.offset + section.size
        while at + 12 <= end:
            length, pointer = struct.unpack("<II", self._elf.bytes_at(at, 8))
            head, size = 8, 4 + length
            if length == 0xFFFFFFFF:  # the 64-bit form
                (length, pointer) = struct.unpack("<QI", self._elf.bytes_at(at + 4, 12))
                head, size = 16, 12 + length
            if length == 0 or at + size > end:
                break  # the terminator
            try:
                start = self._start(section, at + head, at + head - 4 - pointer) if pointer else None
            except SymbolError:
                break  # garbled: nothing says where the next entry begins
            if start is not None:
                rows.append((start - self._address, at - section.offset))
            at += size
        fits = [row for row in sorted(rows) if -(1 << 31) <= row[0] < 1 << 31]
        self.count = len(fits)
        self._table = memoryview(b"".join(_ENTRY.pack(*row) for row in fits))

    def _start(self, section: Section, at: int, cie: int) -> int | None:
        """The address where the code of an entry begins, which is kept at the file offset ``at``.

        Raises :class:`SymbolError` where the CIE that the entry names is no earlier part of the section.
        """
        if not section.offset <= cie < at:
            raise self._elf.garbled(f"the entry at {at:#x} names a CIE outside of .eh_frame")
        encoding = self._encoding_of(cie)
        form = _FORMATS.get(encoding & 0x0F)
        if form is None:
            return None
        address = section.address + at - section.offset
        (value,) = struct.unpack(form, self._elf.bytes_at(at, struct.calcsize(form)))
        return value + (address if encoding & _PCREL else 0) if value else None

    @cached_property
    def starts(self) -> list[int]:
        """The start of every function, ascending (link-time addresses)."""
        return [start + self._address for start, _ in _ENTRY.iter_unpack(self._table)] if self.count else []

    def find(self, vaddr: int) -> Fde | None:
        """The entry whose code contains ``vaddr``."""
        low, high = 0, self.count
        wanted = vaddr - self._address if self.count else 0
        while low < high:
            middle = (low + high) // 2
            if _ENTRY.unpack_from(self._table, middle * _ENTRY.size)[0] <= wanted:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            return None
        fde = self._entry(low - 1)
        return fde if fde is not None and fde.start <= vaddr < fde.end else None

    def between(self, start: int, end: int) -> list[Fde]:
        """The entries whose code begins in [``start``, ``end``), ascending."""
        rows = range(bisect_left(self.starts, start), bisect_left(self.starts, end))
        return [fde for fde in map(self._entry, rows) if fde is not None]

    def _entry(self, index: int) -> Fde | None:
        if index not in self._entries:
            self._entries[index] = self._read(index)
        return self._entries[index]

    def _read(self, index: int) -> Fde | None:
        start, frame = _ENTRY.unpack_from(self._table, index * _ENTRY.size)
        offset = self._elf.offset_of(frame + self._address)
        if offset is None:  # a split debug file: the table is there, the entries are not
            return None
        head = self._elf.bytes_at(offset, 12)
        length, pointer = struct.unpack_from("<II", head)
        at, size = 8, 4 + length
        if length == 0xFFFFFFFF:  # the 64-bit form
            (length, pointer) = struct.unpack("<QI", self._elf.bytes_at(offset + 4, 12))
            at, size = 16, 12 + length
        cie = offset + at - 4 - pointer
        encoding = self._encoding_of(cie)
        form = _FORMATS.get(encoding & 0x0F)
        if form is None:
            return None
        width = struct.calcsize(form)
        (extent,) = struct.unpack(form, self._elf.bytes_at(offset + at + width, width))
        first = start + self._address
        return Fde(first, first + extent, offset, size, cie, encoding, frame + self._address)

    def _encoding_of(self, cie: int) -> int:
        """The pointer encoding of a CIE (augmentation ``R``); absolute when it says nothing."""
        known = self._cie_encodings.get(cie)
        if known is None:
            known = self._cie_encodings[cie] = cie_pointer_encoding(self._elf, cie)
        return known


def cie_pointer_encoding(elf: ElfFile, offset: int) -> int:
    """How the entries of the CIE at a file offset hold their addresses: its augmentation ``R``; 0 without one."""
    (length,) = struct.unpack("<I", elf.bytes_at(offset, 4))
    if length in (0, 0xFFFFFFFF):
        raise elf.garbled(f"the CIE at {offset:#x} has a length that no compiler writes")
    try:
        return _encoding_in(elf.bytes_at(offset + 4, length))
    except (IndexError, ValueError) as error:
        raise elf.garbled(f"the CIE at {offset:#x} cannot be understood") from error


def _encoding_in(data: bytes) -> int:
    """The pointer encoding, from the bytes after the CIE's length. Garbled: IndexError or ValueError."""
    end = data.index(b"\0", 5)
    augmentation = data[5:end].decode("latin-1")
    at = end + 1
    if not augmentation.startswith("z"):
        return 0
    at = skip_leb128(data, at)  # code alignment factor
    at = skip_leb128(data, at)  # data alignment factor
    at = at + 1 if data[4] == 1 else skip_leb128(data, at)  # return address register
    at = skip_leb128(data, at)  # length of the augmentation data
    for letter in augmentation[1:]:
        if letter == "R":
            return data[at]
        if letter == "L":
            at += 1
        elif letter == "P":
            encoding = data[at]
            at += 1 + struct.calcsize(_FORMATS.get(encoding & 0x0F, "<Q"))
        elif letter not in "SB":
            raise ValueError(augmentation)
    return 0


def skip_leb128(data: bytes, at: int) -> int:
    while data[at] & 0x80:
        at += 1
    return at + 1
