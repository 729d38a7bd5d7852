"""Dispatch stubs: which vectorised functions an ATen kernel calls, by the capability of the processor.

A kernel calls ``sin_stub``, which at run time picks one of the functions compiled for each instruction set
(ATen/native/DispatchStub.h). Their pointers are static members, ``DispatchStub<…, sin_stub_DECLARE_DISPATCH_type>
::AVX2`` and so on, which the dynamic linker fills in; the kernel's code takes the addresses of these members. Both
can be read from the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from ...shared.symbol_table import SymbolTable
from ..elf.code_references import targets
from ..elf.elf_file import EM_AARCH64, EM_X86_64
from ..objfile import Objfile, Symbol

# By machine; ATen/native/DispatchStub.h, of PyTorch 2.6 and later for AArch64.
CAPABILITIES = {EM_X86_64: ("DEFAULT", "AVX2", "AVX512"), EM_AARCH64: ("DEFAULT", "SVE256")}
_STUB = re.compile(r"DispatchStub<.*, ([\w:]+)_DECLARE_DISPATCH_type>::")
_ABSOLUTE, _GLOB_DAT, _RELATIVE = range(3)
# Their types by machine: System V ABI for x86-64, table 4.10; ELF for the Arm 64-bit Architecture, 5.7.
_RELOCATIONS = {
    EM_X86_64: {1: _ABSOLUTE, 6: _GLOB_DAT, 8: _RELATIVE},
    EM_AARCH64: {257: _ABSOLUTE, 1025: _GLOB_DAT, 1027: _RELATIVE},
}


@dataclass(frozen=True)
class Stub:
    """A dispatch stub by its qualified name, and its function for each capability that has one."""

    name: str
    functions: tuple[tuple[str, Symbol], ...]


class StubTable:
    """The dispatch stubs of one library; empty where it has none."""

    def __init__(self, library: Objfile) -> None:
        self._library = library

    def called_by(self, function: Symbol) -> list[Stub]:
        """The stubs whose members the function's own code refers to, in the order in which it does."""
        if not self._members:
            return []
        referred = targets(self._library.elf, function.address, function.size)
        named = (self._named.get(target) for target in referred)
        return [self._stub(name) for name in dict.fromkeys(name for name in named if name is not None)]

    def _stub(self, name: str) -> Stub:
        functions = []
        for capability in self._capabilities:
            address = self._members.get((name, capability))
            pointer = self._pointers.get(address) if address is not None else None
            symbol = self._library.symbol_at(pointer) if pointer else None
            if symbol is not None:
                functions.append((capability, symbol))
        return Stub(name, tuple(functions))

    @property
    def _capabilities(self) -> tuple[str, ...]:
        return CAPABILITIES.get(self._library.elf.machine, ())

    @cached_property
    def _members(self) -> dict[tuple[str, str], int]:
        """``(stub, capability)`` -> the link-time address of the member that holds the function's pointer."""
        members = {}
        for capability in self._capabilities:
            for symbol in self._library.find_data(f"at::native::DispatchStub::{capability}"):
                match = _STUB.search(symbol.name)
                if match is not None:
                    members[match[1], capability] = symbol.address
        return members

    @cached_property
    def _named(self) -> dict[int, str]:
        """Address that code refers to -> the stub: the address of a member, or of its entry in the GOT."""
        stubs = {address: name for (name, _), address in self._members.items()}
        return {
            **stubs,
            **{slot: stubs[address] for slot, address in self._slots.items() if address in stubs},
        }

    @property
    def _pointers(self) -> dict[int, int]:
        """Address of a member -> address of the function that the dynamic linker will write there."""
        return self._linked[0]

    @property
    def _slots(self) -> dict[int, int]:
        """Address of an entry in the GOT -> address that the dynamic linker will write there."""
        return self._linked[1]

    @cached_property
    def _linked(self) -> tuple[dict[int, int], dict[int, int]]:
        """Pointers and slots, from the relocations whose values are known from this file alone."""
        elf = self._library.elf
        pointers: dict[int, int] = {}
        slots: dict[int, int] = {}
        symbols = elf.section(".dynsym")
        if symbols is None:
            return pointers, slots
        table, members = SymbolTable(elf, symbols), set(self._members.values())
        kinds = _RELOCATIONS.get(elf.machine, {})
        for place, number, symbol, addend in elf.relocations(elf.section(".rela.dyn")):
            kind = kinds.get(number)
            if kind is None or not (kind == _GLOB_DAT or place in members):
                continue
            value = addend if kind == _RELATIVE else table.entry(symbol).value + addend
            if kind == _GLOB_DAT:
                slots[place] = value
            if place in members:
                pointers[place] = value
        return pointers, slots
