"""ELF files for the helpers: symbols by address and by name, and bytes, without gdb."""

from __future__ import annotations

from functools import cached_property

from dualdbg_shared import elf
from dualdbg_shared.elf import PT_LOAD, SHT_DYNSYM, SHT_SYMTAB
from dualdbg_shared.symbol_table import STT_FUNC, STT_GNU_IFUNC, STT_TLS, SymbolTable

_FUNCTIONS = (STT_FUNC, STT_GNU_IFUNC)


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

    def thread_local(self, name: str) -> int | None:
        """Where a thread-local variable lies in the block of its file; None when there is none of this name."""
        for table in self.tables:
            for entry in table.called(name.encode("ascii")):
                if entry.type == STT_TLS:
                    return entry.value
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
