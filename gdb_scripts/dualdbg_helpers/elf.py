"""A small reader of ELF files: symbols by address and by name, without asking gdb.

Format: System V ABI, "Object Files" and "Symbol Table" (64-bit, little-endian only).
"""

import mmap
import os
import struct
from array import array

SHT_SYMTAB, SHT_RELA, SHT_DYNSYM = 2, 4, 11
PT_LOAD = 1
STT_OBJECT, STT_FUNC, STT_TLS, STT_GNU_IFUNC = 1, 2, 6, 10
SHN_UNDEF = 0
R_X86_64_DTPMOD64 = 16  # without a symbol: the id of the file's own module


class NotElf(Exception):
    """The file is not a 64-bit little-endian ELF file."""


class SymbolTable:
    """One table of symbols. Columns are arrays, so that half a million entries cost no objects."""

    ENTRY = 24  # st_name u32, st_info u8, st_other u8, st_shndx u16, st_value u64, st_size u64

    def __init__(self, image, offset, size, strings_offset, strings_size):
        count = size // self.ENTRY
        words = array("Q", image[offset : offset + count * self.ENTRY])
        self.heads = words[0::3]
        self.values = words[1::3]
        self.sizes = words[2::3]
        self._image = image
        self._strings = strings_offset
        self._strings_end = strings_offset + strings_size

    def name(self, index):
        start = self._strings + (self.heads[index] & 0xFFFFFFFF)
        end = self._image.find(b"\0", start, self._strings_end)
        return self._image[start : end if end >= 0 else start].decode("ascii", "replace")

    def kind(self, index):
        return (self.heads[index] >> 32) & 0xF

    def defined(self, index):
        return (self.heads[index] >> 48) != SHN_UNDEF

    def starting_at(self, value):
        """Indexes of the defined symbols whose value is ``value``."""
        found, start = [], 0
        while True:
            try:
                index = (
                    self.values.index(value, start) if start == 0 else _index_from(self.values, value, start)
                )
            except ValueError:
                return found
            if self.defined(index):
                found.append(index)
            start = index + 1

    def named(self, name):
        """Indexes of the defined symbols with exactly this name."""
        raw = name.encode("ascii") + b"\0"
        found, at = [], self._strings - 1
        while True:
            at = self._image.find(raw, at + 1, self._strings_end)
            if at < 0:
                return found
            # A symbol's name may be the tail of a longer string, so every hit is a candidate.
            offset = at - self._strings
            for index, head in self._by_name(offset):
                if head >> 48 != SHN_UNDEF:
                    found.append(index)

    def _by_name(self, offset):
        names = array("I", self.heads.tobytes())[0::2]
        start = 0
        while True:
            try:
                index = _index_from(names, offset, start)
            except ValueError:
                return
            yield index, self.heads[index]
            start = index + 1

    def containing(self, value, kinds=(STT_FUNC, STT_GNU_IFUNC)):
        """The index of the symbol that ``value`` lies in, or None."""
        best = None
        sizes, heads = self.sizes, self.heads
        for index, start in enumerate(self.values):
            if (
                start <= value < start + (sizes[index] or 1)
                and (heads[index] >> 32) & 0xF in kinds
                and heads[index] >> 48 != SHN_UNDEF
                and (best is None or start > self.values[best])
            ):
                best = index
        return best


def _index_from(values, wanted, start):
    """``array.index`` with a start, which Python 3.8 and 3.9 do not have."""
    if start == 0:
        return values.index(wanted)
    return start + values[start:].index(wanted)


class ElfFile:
    """Section and program headers of a file, and its symbol tables (``.symtab`` before ``.dynsym``)."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size < 64:
                raise NotElf(path)
            self._image = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._image[:6] != b"\x7fELF\x02\x01":
            raise NotElf(path)
        (self.machine,) = struct.unpack_from("<H", self._image, 18)
        phoff, shoff = struct.unpack_from("<QQ", self._image, 32)
        phentsize, phnum, shentsize, shnum = struct.unpack_from("<HHHH", self._image, 54)
        size = len(self._image)
        self.segments = [
            struct.unpack_from("<IIQQQQQQ", self._image, phoff + i * phentsize)
            for i in range(phnum)
            if phoff + (i + 1) * phentsize <= size
        ]
        self.sections = [
            struct.unpack_from("<IIQQQQIIQQ", self._image, shoff + i * shentsize)
            for i in range(shnum)
            if shoff + (i + 1) * shentsize <= size
        ]
        self._tables = None

    @property
    def first_address(self):
        """The virtual address of the first loaded segment, rounded down to its page."""
        return min((s[3] & ~0xFFF for s in self.segments if s[0] == PT_LOAD), default=0)

    @property
    def tables(self):
        if self._tables is None:
            self._tables = []
            for wanted in (SHT_SYMTAB, SHT_DYNSYM):
                for section in self.sections:
                    if section[1] == wanted and section[6] < len(self.sections):
                        strings = self.sections[section[6]]
                        self._tables.append(
                            SymbolTable(self._image, section[4], section[5], strings[4], strings[5])
                        )
        return self._tables

    def at(self, value):
        """The name of a symbol that starts at the virtual address ``value`` (functions first), or None."""
        names = []
        for table in self.tables:
            for index in table.starting_at(value):
                names.append((table.kind(index) not in (STT_FUNC, STT_GNU_IFUNC), table.name(index)))
            if names:
                return min(names)[1]
        return None

    def around(self, value):
        """``(name, start)`` of the function that contains the virtual address ``value``, or None."""
        for table in self.tables:
            index = table.containing(value)
            if index is not None:
                return table.name(index), table.values[index]
        return None

    def find(self, name):
        """The virtual address of the symbol ``name``, or None."""
        for table in self.tables:
            for index in table.named(name):
                if table.kind(index) != STT_TLS:
                    return table.values[index]
        return None

    def thread_local(self, name):
        """``(offset in the module's thread-local block, address of the module's id)`` of a thread-local variable.

        None when there is no such variable, or no slot with the id of this module (x86-64 only).
        """
        for table in self.tables:
            for index in table.named(name):
                if table.kind(index) == STT_TLS:
                    slot = self._module_id_slot()
                    return None if slot is None else (table.values[index], slot)
        return None

    def _module_id_slot(self):
        for section in self.sections:
            if section[1] == SHT_RELA:
                words = array("Q", self._image[section[4] : section[4] + section[5] // 24 * 24])
                try:
                    return words[0::3][words[1::3].index(R_X86_64_DTPMOD64)]
                except ValueError:
                    continue
        return None

    def contents(self, value, size):
        """Bytes of the file that are mapped at the virtual address ``value``; None where it holds none."""
        for kind, _, offset, vaddr, _, filesz, _, _ in self.segments:
            if kind == PT_LOAD and vaddr <= value and value + size <= vaddr + filesz:
                return self._image[offset + value - vaddr : offset + value - vaddr + size]
        return None

    def mentions(self, text):
        """Whether ``text`` (bytes) occurs in the names of the dynamic symbols."""
        for section in self.sections:
            if section[1] == SHT_DYNSYM and section[6] < len(self.sections):
                strings = self.sections[section[6]]
                return self._image.find(text, strings[4], strings[4] + strings[5]) >= 0
        return False
