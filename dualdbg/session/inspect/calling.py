"""Finds how a function without debug info is called: by its signature, and where that leaves it open by its code."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from ...backends.native import EntryCode, Passing
from ...errors import CommandError, SymbolError
from ...symbols.address_space import AddressSpace, Module
from ...symbols.function_parts import Part, first_parts, further_part, landing_pads, part_at
from ...symbols.names.signature import Signature
from ..engines import Evaluating, Reading

_MOST_PARTS = 8
_LONGEST_CALLER = 1 << 17  # bytes of code
_LARGEST_TABLE = 1 << 16  # bytes
_MOST_KEPT = 2000  # functions of which it is known what their code tells


class Engine(Evaluating, Reading, Protocol):
    """What is needed of gdb."""


def passing_of(signature: Signature) -> Passing:
    """What the signature alone tells."""
    return Passing(
        tuple((one.name, one.type) for one in signature.parameters),
        signature.hidden,
        signature.member,
        signature.result,
        signature.table,
        signature.this,
        signature.by_address,
        as_written=signature.by_name,
        callers_fill=signature.callers_fill,
    )


async def by_signature(_entry: int, signature: Signature) -> Passing:
    """The same, without a look at the code."""
    return passing_of(signature)


async def by_itself(_number: int, _entry: int, what: Passing) -> Passing:
    """Of a call nothing else is known."""
    return what


def _sections(module: Module, beginning: str) -> list[Part]:
    """Where the sections of a library are in the process whose names begin so."""
    sections = module.library.elf.sections if module.library is not None else []
    found = [one for one in sections if one.name.startswith(beginning)]
    return [(one.address + module.bias, one.address + one.size + module.bias) for one in found]


class CallingReader:
    """Reads the code of functions, once each as long as the libraries are the same."""

    def __init__(self, native: Engine, image: AddressSpace) -> None:
        self._native = native
        self._image = image
        self._known: dict[int, EntryCode] = {}
        self._virtual: dict[int, bool] = {}
        self._filled: dict[tuple[int, int], tuple[str, ...]] = {}  # by return address and entry
        self._version = image.version

    async def passing(self, entry: int, signature: Signature) -> Passing:
        """How the function at ``entry`` is called, as far as that is proven."""
        what = passing_of(signature)
        if not signature.by_name:
            return what
        if self._version != self._image.version or len(self._known) > _MOST_KEPT:
            self._known.clear()
            self._virtual.clear()
            self._filled.clear()
            self._version = self._image.version
        if entry not in self._known:
            self._known[entry] = await self._read(entry)
        code = self._known[entry]
        hidden = False if code.not_hidden else what.hidden
        member = what.member
        if signature.vtable is not None:
            if entry not in self._virtual:
                self._virtual[entry] = await self._is_in_table(entry, signature.vtable)
            member = True if self._virtual[entry] else member
        return replace(what, hidden=hidden, member=member, evidence=code.evidence)

    async def _is_in_table(self, entry: int, name: str) -> bool:
        """Whether the vtable of this linkage name has the function: it is virtual then."""
        module = self._image.module_at(entry)
        if module is None or module.library is None:
            return False
        for table in module.library.find_data(name):
            if table.linkage_name != name or not 0 < table.size <= _LARGEST_TABLE or table.size % 8:
                continue
            try:
                data = await self._native.read_memory(table.address + module.bias, table.size)
            except CommandError:
                continue  # a core without it
            if entry in struct.unpack(f"<{len(data) // 8}Q", data):
                return True
        return False

    async def at_call(self, number: int, entry: int, what: Passing) -> Passing:
        """The same for the call at whose entry the thread with gdb's ``number`` stands, by what its caller does."""
        if not what.as_written or not what.callers_fill:
            return what
        frames = await self._native.frames(number, 2)
        if len(frames) < 2 or frames[1].pc is None:
            return what
        place = frames[1].pc, entry
        if place not in self._filled:
            part = part_at(self._image, frames[1].pc - 1)
            module = self._image.module_at(frames[1].pc - 1)
            if (
                part is None
                or part[1] - part[0] > _LONGEST_CALLER
                or module is None
                or module.library is None
            ):
                return what
            if not module.library.keeps_parameters:
                return what  # what another compiler leaves in registers is not known
            try:
                found = await self._native.filled_registers(
                    number, entry, part, _sections(module, ".plt"), _sections(module, ".got")
                )
            except CommandError:
                return what  # there are data between the instructions
            if not found:
                return what
            self._filled[place] = tuple(found)
        return replace(what, filled=self._filled[place])

    async def _read(self, entry: int) -> EntryCode:
        nothing = EntryCode(None, False)
        try:
            parts = first_parts(self._image, entry)
            while parts and len(parts) <= _MOST_PARTS:
                found = await self._native.entry_code(parts, self._pads(parts))
                more = {further_part(self._image, target) for target in found.outside} - {None, *parts}
                if not more:
                    return found
                parts += sorted(part for part in more if part is not None)
        except (CommandError, SymbolError):
            return nothing  # there are data between the instructions, or it is not known what code is there
        return nothing

    def _pads(self, parts: Sequence[Part]) -> list[int]:
        found: list[int] = []
        for start, _ in parts:
            module = self._image.module_at(start)
            found += landing_pads(module, start) if module is not None and module.library is not None else []
        return found
