"""Tells of breakpoints in lines of Python that do not run, because torch.compile has made kernels of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath

from ...known.generated_code import is_kernel_library
from ...model import Breakpoint, BreakpointKind, Notice
from ...symbols.address_space import AddressSpace
from ...symbols.torch.compiled_code import CompiledCode, lines_of, names_file
from ...system.in_thread import in_thread
from ..loop import Loop

_Lines = frozenset[tuple[str, int]]


class CompiledLines:
    """Reads the records of the kernels that are loaded, as long as there is a breakpoint that they may be of.

    A record is written after its kernel was loaded, so it is looked for again with each library, and at the end.
    """

    def __init__(self, loop: Loop, image: AddressSpace, rows: Mapping[int, Breakpoint]) -> None:
        self._loop = loop
        self._image = image
        self._rows = rows
        self._told: set[int] = set()
        self._code: dict[Path, CompiledCode] = {}
        self._reads, self._again = False, False

    def removed(self, id: int) -> None:
        """There is no such breakpoint any more."""
        self._told.discard(id)

    def look(self) -> None:
        """A library was loaded, or a breakpoint was set."""
        if self._reads:
            self._again = True
        elif self._folders() and self._silent():
            self._reads = True
            self._loop.background(self._look())

    async def _look(self) -> None:
        try:
            self._again = True
            while self._again:
                self._again = False
                folders = self._folders()
                code = [self._code.setdefault(folder, CompiledCode(folder)) for folder in folders]
                self._tell(await in_thread(_computed, code))
        finally:
            self._reads = False

    def at_end(self) -> None:
        """The program has ended."""
        if self._silent():
            self._tell(_computed([CompiledCode(folder) for folder in self._folders()]))

    def _folders(self) -> list[Path]:
        paths = (one.path for one in self._image.modules if is_kernel_library(one.path))
        return list(dict.fromkeys(Path(path).parent.parent for path in paths))

    def _silent(self) -> list[Breakpoint]:
        """The breakpoints in lines of Python that have not been hit, and that nothing was told of yet."""
        return [
            row
            for row in self._rows.values()
            if row.spec.kind is BreakpointKind.PYTHON_LINE and not row.hit_count and row.id not in self._told
        ]

    def _tell(self, computed: _Lines) -> None:
        for row in self._silent():
            places = [(one.file, one.line) for one in row.locations] or [(row.spec.subject, row.spec.line)]
            if any(_is_among(computed, file, line) for file, line in places):
                self._told.add(row.id)
                text = (
                    f"breakpoint {row.id}: torch.compile has made kernels of {row.spec.text}; "
                    "while they run, the line of Python does not"
                )
                file, line = PurePath(row.spec.subject).name, row.spec.line
                self._loop.tell(Notice("info", text, f"a breakpoint {file}:{line}@kernel stops in them"))


def _computed(code: list[CompiledCode]) -> _Lines:
    """The lines of the program that any kernel computes."""
    return frozenset((one.file, one.line) for each in code for one in lines_of(each.kernels()))


def _is_among(computed: _Lines, file: str | None, line: int | None) -> bool:
    return file is not None and any(one == line and names_file(file, path) for path, one in computed)
