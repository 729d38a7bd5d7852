"""ELF files for the helpers: symbols by address and by name, and bytes, without gdb."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from dualdbg_shared import elf
from dualdbg_shared.elf import PT_LOAD, SHT_DYNSYM, SHT_RELA, SHT_SYMTAB
from dualdbg_shared.symbol_table import STT_FUNC, STT_GNU_IFUNC, STT_TLS, SymbolTable

_FUNCTIONS = (STT_FUNC, STT_GNU_IFUNC)
_R_X86_64_DTPMOD64 = 16  # without a symbol: the id of the file's own module
_R_AARCH64_TLSDESC = 1031  # a pair of words that leads to a thread-local variable


class ThreadLocal(NamedTuple):
    """A thread-local variable: its ``offset`` in the block of its file, and what the dynamic linker has filled in.

    ``slot`` is the address of the id of this file's module. On AArch64 it is that of a TLS descriptor, of the place at
    offset ``described`` of the block.
    """

    offset: int
    slot: int
    described: int | None = None


class ElfFile(elf.ElfFile):
    """A file and its symbol tables, ``.symtab`` before ``.dynsym``. Names are mangled."""

    @cached_property
    def tables(self) -> list[SymbolTable]:
        return [
            SymbolTable(self, one)
            for kind in (SHT_SYMTAB, SHT_DYNSYM)
            for one in self.sections
            if one.type == kind
        ]

    def at(self, value: int) -> str | None:
        """The name of a symbol that starts at the virtual address ``value`` (functions first), or None."""
        for table in self.tables:
            found = [(entry.type not in _FUNCTIONS, table.name(entry)) for entry in table.starting_at(value)]
            if found:
                return _text(min(found)[1])
        return None

    def around(self, value: int) -> tuple[str, int] | None:
        """``(name, start)`` of the function that contains the virtual address ``value``, or None."""
        for table in self.tables:
            entry = table.function_around(value)
            if entry is not None:
                return _text(table.name(entry)), entry.value
        return None

    def find_symbol(self, name: str) -> int | None:
        """The virtual address of the symbol ``name``, or None."""
        for table in self.tables:
            for entry in table.called(name.encode("ascii")):
                if entry.type != STT_TLS:
                    return entry.value
        return None

    def thread_local(self, name: str) -> ThreadLocal | None:
        """A thread-local variable; None when there is none of this name, or nothing leads to the file's block."""
        for table in self.tables:
            for entry in table.called(name.encode("ascii")):
                if entry.type == STT_TLS:
                    return self._local_at(entry.value)
        return None

    def _local_at(self, offset: int) -> ThreadLocal | None:
        if self._own_module is None:
            return None
        slot, addend = self._own_module
        return ThreadLocal(offset, slot, addend if self.machine == elf.EM_AARCH64 else None)

    @cached_property
    def _own_module(self) -> tuple[int, int] | None:
        """Place and addend of the first relocation for a block of this file's own; None where it has none."""
        wanted = _R_AARCH64_TLSDESC if self.machine == elf.EM_AARCH64 else _R_X86_64_DTPMOD64
        for section in self.sections:
            if section.type == SHT_RELA:
                for place, kind, symbol, addend in self.relocations(section):
                    if kind == wanted and symbol == 0:
                        return place, addend
        return None

    def contents_at(self, value: int, size: int) -> bytes | None:
        """The bytes of the file that are mapped at the virtual address ``value``; None where the file has none."""
        for segment in self.segments:
            end = segment.address + segment.file_size
            if segment.type == PT_LOAD and segment.address <= value and value + size <= end:
                return self.bytes_at(segment.offset + value - segment.address, size)
        return None

    def mentions(self, text: bytes) -> bool:
        """Whether ``text`` occurs in the names of the dynamic symbols."""
        for section in self.sections:
            if section.type == SHT_DYNSYM and section.link < len(self.sections):
                strings = self.sections[section.link]
                return self.find(text, strings.offset, strings.end) >= 0
        return False


def _text(name: bytes) -> str:
    return name.decode("ascii", "replace")
