"""The implementation of an indirect function (STT_GNU_IFUNC): what its resolver returned, from the process's memory.

The dynamic linker calls the resolver and keeps the answer in slots: those of IRELATIVE relocations in the
function's own library, and those of other libraries that refer to it by its name (System V ABI for x86-64, 4.4.1;
ELF for the Arm 64-bit Architecture, 5.7).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from ..errors import SymbolError, UnreadableMemory
from ..shared.symbol_table import SHN_UNDEF, SymbolTable
from .address_space import AddressSpace, LoadedFunction, Module
from .elf.elf_file import EM_AARCH64, EM_X86_64, ElfFile

_WORD = struct.Struct("<Q")
# Relocations with an address of a function: *_IRELATIVE, and *_GLOB_DAT and *_JUMP_SLOT of a symbol.
_IRELATIVE = {EM_X86_64: 37, EM_AARCH64: 1032}
_OF_SYMBOL = {EM_X86_64: (6, 7), EM_AARCH64: (1025, 1026)}

Read = Callable[[int, int], bytes]


def implementation(image: AddressSpace, place: LoadedFunction, read: Read) -> int | None:
    """The absolute address of the function that the resolver at ``place`` chose; None while no slot has it."""
    for module in sorted(image.modules, key=lambda one: (one != place.module, one.end - one.start)):
        if module.library is None:
            continue
        try:
            slots = list(_slots(module, module.library.elf, place))
        except SymbolError:
            continue  # a file that was overwritten
        for slot in slots:
            try:
                (value,) = _WORD.unpack(read(slot, _WORD.size))
            except UnreadableMemory:
                continue
            if _is_function_of(place, value):
                return int(value)
    return None


def _slots(module: Module, elf: ElfFile, place: LoadedFunction) -> Iterator[int]:
    """The absolute addresses where the dynamic linker keeps the answer of the resolver."""
    symbols = set() if module == place.module else _referring(elf, place.symbol.linkage_name)
    irelative, of_symbol = _IRELATIVE.get(elf.machine), _OF_SYMBOL.get(elf.machine, ())
    if module != place.module and not symbols:
        return
    for name in (".rela.plt", ".rela.dyn"):
        for slot, kind, symbol, addend in elf.relocations(elf.section(name)):
            if (kind == irelative and module == place.module and addend == place.symbol.address) or (
                kind in of_symbol and symbol in symbols
            ):
                yield slot + module.bias


def _referring(elf: ElfFile, name: str) -> set[int]:
    """The indices of the dynamic symbols of this name that are defined elsewhere."""
    section = elf.section(".dynsym")
    if section is None:
        return set()
    table = SymbolTable(elf, section)
    return {
        entry.index
        for entry in table.with_names(set(table.strings.exact(name.encode())))
        if entry.section == SHN_UNDEF
    }


def _is_function_of(place: LoadedFunction, value: int) -> bool:
    """Whether a slot's content is in the library of the function: else it was not filled in yet, or leads elsewhere."""
    module = place.module
    if not module.start <= value < module.end or value == place.address or module.library is None:
        return False
    section = next(
        (
            s
            for s in module.library.elf.sections
            if s.is_code and s.address <= value - module.bias < s.address + s.size
        ),
        None,
    )
    return section is not None and not section.name.startswith(".plt")
