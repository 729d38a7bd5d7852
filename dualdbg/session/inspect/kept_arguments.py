"""Finds where the arguments of a function without debug info still are, in the middle of it and further out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...backends.native import AskingGdb
from ...errors import CommandError
from ...model import NativeFrame
from ...shared.requests.arguments import ReadKeptArguments
from ...symbols.address_space import AddressSpace
from ...symbols.function_parts import first_parts, further_part, part_at

_MOST_PARTS = 8


class KeptReader:
    """Reads the code of functions."""

    def __init__(self, native: AskingGdb, image: AddressSpace) -> None:
        self._native = native
        self._image = image

    async def registers(
        self, entry: int, pc: int, inner: Sequence[NativeFrame]
    ) -> Mapping[str, tuple[str, int]]:
        """As :class:`KeptArguments` has them, for a frame at ``pc`` of the function at ``entry``.

        ``inner`` are the frames of the functions that it has called. A register of the frame is known where the unwind
        tables describe all of those. Raises SymbolError where code of the function is not known.
        """
        parts = first_parts(self._image, entry)
        inside = bool(parts) and parts[0][0] <= pc <= parts[0][1]
        if not inside or any(part_at(self._image, one.pc - one.is_call) is None for one in inner):
            return {}
        while len(parts) <= _MOST_PARTS:
            try:
                found = await self._native.ask(ReadKeptArguments(parts, pc))
            except CommandError:
                return {}  # gdb cannot decode it: there are data between the instructions
            if not found.kept:
                return {}
            more = {further_part(self._image, target) for target in found.outside} - {None, *parts}
            if not more:
                return found.kept
            parts += sorted(part for part in more if part is not None)
        return {}
