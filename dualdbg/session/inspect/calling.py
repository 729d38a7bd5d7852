"""Finds how a function without debug info is called: by its signature, and where that leaves it open by its code."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...backends.native import AskingGdb
from ...errors import CommandError, SymbolError
from ...shared.requests.arguments import CallerCode, EntryCode, Passing, ReadCallEvidence, ReadEntryCode
from ...shared.requests.threads import ReadFrames, ReadMemory
from ...symbols.address_space import AddressSpace, Module
from ...symbols.function_parts import (
    Part,
    first_parts,
    further_part,
    is_put_aside,
    landing_pads,
    part_at,
    sections_of,
)
from ...symbols.names.signature import Relays, Signature

_MOST_PARTS = 8
_LONGEST_CALLER = 1 << 17  # bytes of code
_LARGEST_TABLE = 1 << 16  # bytes
_MOST_KEPT = 2000  # functions of which it is known what their code tells


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
        constructs=signature.constructs,
    )


async def by_signature(_entry: int, signature: Signature) -> Passing:
    """The same, without a look at the code."""
    return passing_of(signature)


async def by_itself(_number: int, _entry: int, what: Passing) -> Passing:
    """Of a call nothing else is known."""
    return what


class CallingReader:
    """Reads the code of functions, once each as long as the libraries are the same."""

    def __init__(self, native: AskingGdb, image: AddressSpace) -> None:
        self._native = native
        self._image = image
        self._known: dict[int, tuple[EntryCode, Sequence[Part]]] = {}  # by entry
        self._virtual: dict[int, bool] = {}
        self._calls: dict[tuple[int, int], Mapping[str, Any]] = {}  # by return address and entry
        # Where a function begins and what is passed to it, by an address in it, and whether that is a return address.
        self.signature_at: Callable[[int, bool], tuple[int, Signature] | None] = lambda pc, is_return: None
        self._version = image.version

    async def passing(self, entry: int, signature: Signature) -> Passing:
        """How the function at ``entry`` is called, as far as that is proven."""
        what = passing_of(signature)
        if not signature.by_name:
            return what
        if self._version != self._image.version or len(self._known) > _MOST_KEPT:
            self._known.clear()
            self._virtual.clear()
            self._calls.clear()
            self._version = self._image.version
        code, _ = await self._code(entry)
        if signature.relays is not None:
            if await self._is_passed_on(entry, signature.relays):
                return what._replace(hidden=False, member=False, this=None, evidence=code.evidence)
            if signature.relays.needed:
                return what._replace(hidden=None, member=None, evidence=None, callers_fill=False)
        hidden = False if code.not_hidden else what.hidden
        member = what.member
        if signature.vtable is not None:
            if entry not in self._virtual:
                self._virtual[entry] = await self._is_in_table(entry, signature.vtable)
            member = True if self._virtual[entry] else member
        return what._replace(hidden=hidden, member=member, evidence=code.evidence)

    async def _is_passed_on(self, entry: int, relays: Relays) -> bool:
        """Whether one of the functions does nothing but pass these arguments on to ``entry``, in this order."""
        for function in relays.functions:
            passed_on = (await self._code(function))[0].passed_on
            if passed_on is not None and passed_on.to == entry:
                return passed_on.arguments[: len(relays.arguments)] == relays.arguments
        return False

    async def _is_in_table(self, entry: int, name: str) -> bool:
        """Whether the vtable of this linkage name has the function: it is virtual then."""
        module = self._image.module_at(entry)
        if module is None or module.library is None:
            return False
        for table in module.library.find_data(name):
            if table.linkage_name != name or not 0 < table.size <= _LARGEST_TABLE or table.size % 8:
                continue
            try:
                data = await self._native.ask(ReadMemory(table.address + module.bias, table.size))
            except CommandError:
                continue  # a core without it
            if entry in struct.unpack(f"<{len(data) // 8}Q", data):
                return True
        return False

    async def at_call(self, number: int, entry: int, what: Passing) -> Passing:
        """The same for the call at whose entry the thread with gdb's ``number`` stands, by what its caller does."""
        if not what.as_written or not what.callers_fill:
            return what
        frames = await self._native.ask(ReadFrames(number, 2))
        if len(frames) < 2 or frames[1].pc is None:
            return what
        place = frames[1].pc, entry
        if place not in self._calls:
            found = await self._call(number, entry, frames[1].pc)
            if found is None:
                return what
            self._calls[place] = found
        return what._replace(call=self._calls[place])

    async def _call(self, number: int, entry: int, returns_to: int) -> Mapping[str, Any] | None:
        """What the call tells that leads back to an address; None where nothing is certain."""
        part = part_at(self._image, returns_to - 1)
        try:
            caller = await self._caller(part) if part is not None else None
            if caller is None:
                return None
            found = await self._native.ask(ReadCallEvidence(number, entry, caller))
            between = part_at(self._image, found.goes_to) if found.goes_to is not None else None
            through = await self._caller(between) if between is not None else None
            if found.goes_to is None or between is None or between[0] != found.goes_to or through is None:
                return found.call
            return (await self._native.ask(ReadCallEvidence(number, entry, caller, through))).call
        except (CommandError, SymbolError):
            return None  # there are data between the instructions, or it is not known what code is there

    async def _caller(self, part: Part) -> CallerCode | None:
        """What is known of the function with this part; None where what it leaves in registers is not known."""
        module = self._image.module_at(part[0])
        if (
            part[1] - part[0] > _LONGEST_CALLER
            or module is None
            or module.library is None
            or not module.library.keeps_parameters
        ):
            return None
        given: Passing | None = None
        parts: Sequence[Part] = ()
        if self._begins_at(module, part[0]):
            _, parts = await self._code(part[0])
            signature = self.signature_at(part[0], False)
            given = await self.passing(*signature) if signature is not None else None
        stubs, slots = sections_of(module, ".plt"), sections_of(module, ".got")
        constants = sections_of(module, ".rodata")
        pads = self._pads(parts or [part])
        return CallerCode(
            parts=tuple(parts or [part]),
            whole=bool(parts),
            pads=tuple(pads),
            given=given,
            stubs=tuple(stubs),
            slots=tuple(slots),
            constants=tuple(constants),
        )

    @staticmethod
    def _begins_at(module: Module, address: int) -> bool:
        """Whether a function begins there, and not a part that was put aside, to whose middle others jump."""
        symbol = module.library.symbol_at(address - module.bias) if module.library is not None else None
        return symbol is not None and symbol.address + module.bias == address and not is_put_aside(symbol)

    async def _code(self, entry: int) -> tuple[EntryCode, Sequence[Part]]:
        """As :meth:`_read`, which is done once for each function."""
        if entry not in self._known:
            self._known[entry] = await self._read(entry)
        return self._known[entry]

    async def _read(self, entry: int) -> tuple[EntryCode, Sequence[Part]]:
        """What the code of a function tells, and all its parts; no parts where they are not known."""
        nothing = EntryCode(None, False), ()
        try:
            parts = first_parts(self._image, entry)
            while parts and len(parts) <= _MOST_PARTS:
                found = await self._native.ask(ReadEntryCode(parts, self._pads(parts)))
                more = {further_part(self._image, target) for target in found.outside} - {None, *parts}
                if not more:
                    return found, parts
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
