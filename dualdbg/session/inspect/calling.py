"""Finds how a function without debug info is called: by its signature, and where that leaves it open by its code."""

from __future__ import annotations

from collections.abc import Sequence

from ...backends.native import EntryCode, Passing
from ...errors import CommandError, SymbolError
from ...symbols.address_space import AddressSpace
from ...symbols.function_parts import Part, first_parts, further_part, landing_pads
from ...symbols.names.signature import Signature
from ..engines import Evaluating

_MOST_PARTS = 8
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
    )


async def by_signature(_entry: int, signature: Signature) -> Passing:
    """The same, without a look at the code."""
    return passing_of(signature)


class CallingReader:
    """Reads the code of functions, once each as long as the libraries are the same."""

    def __init__(self, native: Evaluating, image: AddressSpace) -> None:
        self._native = native
        self._image = image
        self._known: dict[int, EntryCode] = {}
        self._version = image.version

    async def passing(self, entry: int, signature: Signature) -> Passing:
        """How the function at ``entry`` is called, as far as that is proven."""
        what = passing_of(signature)
        if not signature.by_name:
            return what
        if self._version != self._image.version or len(self._known) > _MOST_KEPT:
            self._known.clear()
            self._version = self._image.version
        if entry not in self._known:
            self._known[entry] = await self._read(entry)
        code = self._known[entry]
        hidden = False if code.not_hidden else what.hidden
        return Passing(
            what.parameters, hidden, what.member, what.result, what.table, what.this, what.by_address,
            code.evidence, what.as_written,
        )  # fmt: skip

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
