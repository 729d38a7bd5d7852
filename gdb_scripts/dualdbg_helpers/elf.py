"""ELF files for the helpers: symbols by address and by name, and bytes, without gdb."""

from __future__ import annotations

from array import array
from functools import cached_property

from dualdbg_shared import elf
from dualdbg_shared.elf import PT_LOAD, SHT_DYNSYM, SHT_RELA, SHT_SYMTAB
from dualdbg_shared.symbol_table import STT_FUNC, STT_GNU_IFUNC, STT_TLS, SymbolTable

_FUNCTIONS = (STT_FUNC, STT_GNU_IFUNC)
_PAGE = 4096
_RELA_SIZE = 24
_R_X86_64_DTPMOD64 = 16  # without a symbol: the id of the file's own module


class ElfFile(elf.ElfFile):
    """A file and its symbol tables, ``.symtab`` before ``.dynsym``. Names are mangled."""

    @property
    def first_address(self) -> int:
        """The virtual address of the first loaded segment, rounded down to its page."""
        return min((segment.address & -_PAGE for segment in self.loads()), default=0)

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

    def thread_local(self, name: str) -> tuple[int, int] | None:
        """``(offset in the module's thread-local block, address of the module's id)`` of a thread-local variable.

        None when there is no such variable, or no slot with the id of this module (x86-64 only).
        """
        for table in self.tables:
            for entry in table.called(name.encode("ascii")):
                if entry.type == STT_TLS:
                    slot = self._module_id_slot()
                    return None if slot is None else (entry.value, slot)
        return None

    def _module_id_slot(self) -> int | None:
        for section in self.sections:
            if section.type == SHT_RELA:
                data = self.view(section)
                words = array("Q", bytes(data[: len(data) // _RELA_SIZE * _RELA_SIZE]))
                try:
                    return words[0::3][words[1::3].index(_R_X86_64_DTPMOD64)]
                except ValueError:
                    continue
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
