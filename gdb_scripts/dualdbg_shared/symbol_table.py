"""One symbol table of an ELF file (.symtab or .dynsym), searched by name or value without reading it all.

Entries are Elf64_Sym of the gABI, 24 bytes: name offset, info, other, section index, value, size.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, count

from .byte_search import Haystack
from .elf import SHT_DYNSYM, SHT_NOBITS, SHT_SYMTAB, ElfFile, Section
from .string_table import StringTable

ENTRY = struct.Struct("<IBBHQQ")
SHN_UNDEF, SHN_ABS = 0, 0xFFF1
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_FILE, STT_COMMON, STT_TLS, STT_GNU_IFUNC = 0, 1, 2, 4, 5, 6, 10
STB_LOCAL = 0
BINDINGS = {STB_LOCAL: "local", 1: "global", 2: "weak", 10: "unique"}

FUNCTIONS = (STT_FUNC, STT_GNU_IFUNC)

# With as many wanted values, one pass over the table is faster than a byte search for each.
_ONE_PASS = 64


@dataclass(frozen=True)
class Entry:
    """A symbol as the table has it. ``name`` is the file offset of its string."""

    index: int
    name: int
    type: int
    binding: str
    section: int
    value: int
    size: int


class SymbolTable:
    """The table of ``section``, whose strings are in the section that it links to."""

    def __init__(self, elf: ElfFile, section: Section) -> None:
        if section.entry_size != ENTRY.size or section.link >= len(elf.sections):
            raise elf.garbled(f"{section.name} is not a symbol table")
        self.elf = elf
        self.section = section
        if section.size % ENTRY.size:
            raise elf.garbled(f"{section.name} is not a whole number of entries")
        self.strings = StringTable(elf, elf.sections[section.link])
        self._data = elf.view(section)
        self.count = section.size // ENTRY.size
        self._code = frozenset(s.index for s in elf.sections if s.is_code)

    @classmethod
    def of(cls, elf: ElfFile) -> SymbolTable | None:
        """The fullest table there is: .symtab, else .dynsym; None for a file without either."""
        for kind in (SHT_SYMTAB, SHT_DYNSYM):
            for section in elf.sections:
                if section.type == kind and section.type != SHT_NOBITS and section.size:
                    return cls(elf, section)
        return None

    @property
    def is_full(self) -> bool:
        """True for .symtab: local symbols are named."""
        return self.section.type == SHT_SYMTAB

    def entry(self, index: int) -> Entry:
        """The entry with this number."""
        name, info, _, section, value, size = ENTRY.unpack_from(self._data, index * ENTRY.size)
        binding = BINDINGS.get(info >> 4, "local")
        return Entry(index, self.strings.start + name, info & 0xF, binding, section, value, size)

    def name(self, entry: Entry) -> bytes:
        """The name of an entry, as it is in the file."""
        return self.strings.at(entry.name)

    def is_function(self, entry: Entry) -> bool:
        """Defined code: a function, an ifunc, or a label without a type in a code section (assembler)."""
        return self._is_code(entry.type, entry.section, entry.name)

    def _is_code(self, kind: int, section: int, name: int) -> bool:
        if section == SHN_UNDEF:
            return False
        if kind in FUNCTIONS:
            return True
        return kind == STT_NOTYPE and section in self._code and not self._is_mapping(name)

    def _is_mapping(self, name: int) -> bool:
        """``$x``, ``$d``: marks of code and data on aarch64 (AAELF64, "Mapping symbols")."""
        return self.elf.bytes_at(name, 1) == b"$"

    def is_in_section(self, entry: Entry, address: int) -> bool:
        """True when the section that the entry is defined in contains the address."""
        if entry.section >= len(self.elf.sections):
            return False
        section = self.elf.sections[entry.section]
        return section.address <= address < section.address + section.size

    def is_data(self, entry: Entry) -> bool:
        if entry.section == SHN_UNDEF:
            return False
        if entry.type in (STT_OBJECT, STT_COMMON, STT_TLS):
            return True
        return entry.type == STT_NOTYPE and entry.section not in self._code and entry.section < SHN_ABS

    def called(self, name: bytes) -> list[Entry]:
        """The defined entries with exactly this name."""
        found = self.with_names(set(self.strings.exact(name)))
        return [entry for entry in found if entry.section != SHN_UNDEF]

    def starting_at(self, value: int) -> list[Entry]:
        """The defined entries with this value."""
        return [entry for entry in self.with_values({value}) if entry.section != SHN_UNDEF]

    def function_around(self, value: int) -> Entry | None:
        """The function that contains ``value``; of several functions the one that starts last.

        For single questions: :attr:`functions_by_address` takes ten times as long, but every later question is then
        fast.
        """
        starts, sizes = self._spans
        best, found = -1, None
        for index, start in enumerate(starts):
            if start <= value < start + (sizes[index] or 1) and start > best:
                entry = self.entry(index)
                if entry.type in FUNCTIONS and entry.section != SHN_UNDEF:
                    best, found = start, entry
        return found

    @cached_property
    def _spans(self) -> tuple[array[int], array[int]]:
        """The values and the sizes of all entries."""
        words = array("Q", bytes(self._data))
        return words[1::3], words[2::3]

    # -- by name offset and by value ---------------------------------------------------------

    @cached_property
    def _names(self) -> _Column:
        return _Column(self._data, 0)

    @cached_property
    def _values(self) -> _Column:
        return _Column(self._data, 2)

    def with_names(self, offsets: Collection[int]) -> list[Entry]:
        """The entries whose name starts at one of these file offsets."""
        base = self.strings.start
        return [self.entry(i) for i in self._names.indices({offset - base for offset in offsets})]

    def with_values(self, values: Collection[int]) -> list[Entry]:
        """The entries whose value is one of these."""
        low = {value & 0xFFFFFFFF for value in values}
        entries = [self.entry(i) for i in self._values.indices(low)]
        return [entry for entry in entries if entry.value in values]

    @cached_property
    def functions_by_address(self) -> tuple[array[int], array[int]]:
        """(values, entry indices) of all functions, sorted by value. The one full scan; 0.3 s per 500,000."""
        names = self.strings.start
        found = sorted(
            (value, index)
            for index, (name, info, _, section, value, _) in enumerate(ENTRY.iter_unpack(self._data))
            if self._is_code(info & 0xF, section, names + name)
        )
        return array("Q", (value for value, _ in found)), array("I", (index for _, index in found))

    def functions(self) -> Iterable[Entry]:
        """Every defined function, in table order."""
        for index in range(self.count):
            entry = self.entry(index)
            if self.is_function(entry):
                yield entry


class _Column:
    """One 32-bit word of every entry (of an address its low half), packed."""

    def __init__(self, table: memoryview, word: int) -> None:
        self._packed = table.cast("I")[word :: ENTRY.size // 4].tobytes()
        self._haystack = Haystack(self._packed)

    def indices(self, wanted: set[int]) -> list[int]:
        """The indices of the entries whose word is one of ``wanted``, ascending."""
        if len(wanted) > _ONE_PASS:
            return list(compress(count(), map(wanted.__contains__, array("I", self._packed))))
        return sorted(i for value in wanted for i in self._search(value))

    def _search(self, value: int) -> Iterator[int]:
        for at in self._haystack.find_all(value.to_bytes(4, "little"), 0, len(self._packed)):
            if at % 4 == 0:
                yield at // 4
