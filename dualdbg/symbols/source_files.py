"""The source file a function of a release wheel was compiled from, without debug info.

The symbol table lists the local symbols of one object file behind the name of its source (STT_FILE). A function that
other libraries see is not among them, but its ``.cold`` part is. A function without such a part belongs to the file
of the local functions right before and behind it, when these two agree. The name has no folders. The folders are in
the texts that the file's checks (``TORCH_CHECK``) print; code of the same object file refers to one of these texts.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property

from ..shared.symbol_table import ENTRY, STB_LOCAL, STT_FILE, STT_FUNC
from .elf.code_references import targets
from .objfile import Objfile, Symbol

_PATH = re.compile(rb"(?<=\0)(/[\x20-\x7e]+\.(?:cpp|cc|cu))\0")
# Files that the linker itself adds; the functions between them belong to other files.
_NO_SOURCE = re.compile(r"crtstuff\.c|offloadstuff\.c|.*\.[sS]|")
_MAX_SCANNED = 400


class SourceFiles:
    """The sources of one library's functions; empty where its symbol table is stripped."""

    def __init__(self, library: Objfile) -> None:
        self._library = library

    def path_of(self, function: Symbol) -> str | None:
        """The path at the time of compilation, folders included; None where it is not known for certain."""
        unit = self._unit_of(function)
        if unit is None:
            return None
        name = self._names[unit]
        paths = {path for path in self._paths.values() if path.rpartition("/")[2] == name}
        alone = len(paths) == 1 and self._names.count(name) == 1
        return next(iter(paths)) if alone else self._referred(unit, paths)

    def name_of(self, linkage_name: str, address: int, size: int) -> str | None:
        """The name of a function's file without folders, as the symbol table has it; None where it is not certain."""
        unit = self._unit(linkage_name, address, size)
        return None if unit is None else self._names[unit]

    @property
    def names(self) -> frozenset[str]:
        """The names of all files, without folders, whose functions the symbol table lists."""
        return frozenset(self._names)

    def _unit_of(self, function: Symbol) -> int | None:
        """The object file, by the number of its STT_FILE entry."""
        return self._unit(function.linkage_name, function.address, function.size)

    def _unit(self, linkage_name: str, address: int, size: int) -> int | None:
        unit = self._cold.get(linkage_name)
        if unit is None:
            unit = self._between(address, address + max(size, 1))
        return None if unit is None or _NO_SOURCE.fullmatch(self._names[unit]) else unit

    def _between(self, start: int, end: int) -> int | None:
        before = bisect_right(self._starts, start) - 1
        behind = bisect_left(self._starts, end)
        if before < 0 or behind == len(self._starts):
            return None
        first, last = self._locals[before], self._locals[behind]
        return first[2] if first[0] == start or first[2] == last[2] else None

    def _referred(self, unit: int, paths: set[str]) -> str | None:
        """The one of the paths that code of the object file refers to."""
        for address, size, _ in [entry for entry in self._locals if entry[2] == unit][:_MAX_SCANNED]:
            for target in targets(self._library.elf, address, size):
                if self._paths.get(target) in paths:
                    return self._paths[target]
        return None

    @cached_property
    def _table(self) -> tuple[list[tuple[int, int, int]], list[str], dict[str, int]]:
        """Local functions as (address, size, unit) by address; the units' names; the ``.cold`` parts' units."""
        elf = self._library.elf
        symbols, strings = elf.section(".symtab"), elf.section(".strtab")
        functions: list[tuple[int, int, int]] = []
        names: list[str] = []
        cold: dict[str, int] = {}
        if symbols is None or strings is None:
            return functions, names, cold
        for name, info, _, section, address, size in ENTRY.iter_unpack(elf.view(symbols)):
            if info & 15 == STT_FILE:
                names.append(elf.string_at(strings.offset + name, strings.end))
            elif info == STB_LOCAL << 4 | STT_FUNC and names and section and size:
                functions.append((address, size, len(names) - 1))
                linkage_name = elf.string_at(strings.offset + name, strings.end)
                if linkage_name.endswith(".cold"):
                    # Local functions of one name may be in several files; then the name tells nothing.
                    whole = linkage_name.removesuffix(".cold")
                    cold[whole] = len(names) - 1 if cold.get(whole, len(names) - 1) == len(names) - 1 else -1
        return sorted(functions), names, {name: unit for name, unit in cold.items() if unit >= 0}

    @property
    def _locals(self) -> list[tuple[int, int, int]]:
        return self._table[0]

    @property
    def _names(self) -> list[str]:
        return self._table[1]

    @property
    def _cold(self) -> dict[str, int]:
        return self._table[2]

    @cached_property
    def _starts(self) -> list[int]:
        return [address for address, _, _ in self._locals]

    @cached_property
    def _paths(self) -> dict[int, str]:
        """Address -> path, for the texts of the library that are the path of a source."""
        section = self._library.elf.section(".rodata")
        if section is None:
            return {}
        data = bytes(self._library.elf.view(section))
        return {section.address + match.start(1): match[1].decode() for match in _PATH.finditer(data)}
