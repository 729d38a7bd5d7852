"""Lines of Python that Cython has compiled: such a breakpoint is in the native half of the table as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...errors import SpecError
from ...model import Breakpoint, BreakpointKind, Notice
from ...symbols.address_space import Module
from ..loop import Loop
from .native import NativeBreakpoints


class CompiledPython:
    """Looks for modules that were compiled from a file of Python. ``rows`` is the table."""

    def __init__(self, loop: Loop, native: NativeBreakpoints, rows: Mapping[int, Breakpoint]) -> None:
        self._loop = loop
        self._native = native
        self._rows = rows

    def is_found(self, id: int) -> bool:
        """Whether the line of a breakpoint is in compiled code: then that is what runs."""
        if self._rows[id].spec.kind is not BreakpointKind.PYTHON_LINE or not self._native.has(id):
            return False
        _, places, message = self._native.state(id)
        return bool(places) or message is not None

    async def look(self, ids: Iterable[int], modules: Iterable[Module]) -> list[int]:
        """Let those of the breakpoints that are on lines of these modules stop in native code too. Returns which.

        In the modules that come later the native half looks itself.
        """
        found = []
        arrived = list(modules)
        for id in list(ids):
            row = self._rows.get(id)
            if row is None or row.spec.kind is not BreakpointKind.PYTHON_LINE or self._native.has(id):
                continue
            if not any(self._native.is_compiled(module, row.spec.subject) for module in arrived):
                continue
            try:
                await self._native.add(id, row.spec)
            except SpecError as error:
                text = f"breakpoint {id} does not stop where {row.spec.subject} is compiled: {error.message}"
                self._loop.tell(Notice("warning", text, error.hint))
                continue
            found.append(id)
        return found
