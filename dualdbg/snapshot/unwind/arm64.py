"""What unwinding on AArch64 needs beside call frame information: who calls a leaf."""

from __future__ import annotations

import struct
from array import array

from ...shared.elf import SHT_DYNSYM
from ...shared.symbol_table import SymbolTable
from ...symbols.elf.elf_file import ElfFile
from .calls import is_call_word

_B, _BL, _DISTANCE = 0x14000000, 0x94000000, 0x03FFFFFF


class Calls:
    """The direct calls in the code of one file."""

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf
        self._returns: dict[int, int | None] = {}

    def only_return(self, start: int) -> int | None:
        """Where the function at ``start`` returns to, if one instruction calls it and other files cannot: else None.

        All are link-time addresses.
        """
        if start not in self._returns:
            self._returns[start] = self._find(start)
        return self._returns[start]

    def _find(self, start: int) -> int | None:
        text = self._elf.section(".text")
        if text is None or start % 4 or _is_exported(self._elf, start):
            return None
        words = array("I", bytes(self._elf.view(text))[: text.size // 4 * 4])
        first = (start - text.address) // 4
        calls = []
        for kind in (_B, _BL):
            # The distance is counted from the instruction, so that kind, place and distance add up to the same.
            calls += [
                (kind, at)
                for at, word in enumerate(words)
                if word & ~_DISTANCE == kind and (word + at - first) & _DISTANCE == 0
            ]
        if len(calls) != 1 or calls[0][0] != _BL:
            return None
        return text.address + 4 * calls[0][1] + 4


def _is_exported(elf: ElfFile, start: int) -> bool:
    tables = (SymbolTable(elf, section) for section in elf.sections if section.type == SHT_DYNSYM)
    return any(True for table in tables for _ in table.with_values({start}))


def is_behind_call(elf: ElfFile, address: int) -> bool:
    """Whether the instruction before ``address`` is a call."""
    offset = elf.offset_of(address - 4)
    if offset is None:
        return False
    return is_call_word(struct.unpack("<I", elf.bytes_at(offset, 4))[0])
