"""The code of which a file has no call frame information.

The code between two entries of the file's own table is a gap; all of the code of a file without a table is one.
"""

from __future__ import annotations

from ...symbols.elf.elf_file import EM_X86_64
from ...symbols.objfile import Objfile


def has_gap(library: Objfile, vaddr: int) -> bool:
    """Whether the file has no call frame information of the code at an address."""
    return library.frames.find(vaddr) is None and any(start <= vaddr < end for start, end in _code(library))


def gaps(library: Objfile) -> list[tuple[int, int]]:
    """Start and end of the code of which it has none."""
    found = []
    for start, end in _code(library):
        for fde in library.frames.between(start, end):
            if start < fde.start:
                found.append((start, fde.start))
            start = max(start, fde.end)
        if start < end:
            found.append((start, end))
    return found


def _code(library: Objfile) -> list[tuple[int, int]]:
    return [
        (one.address, one.address + one.size)
        for one in library.elf.sections
        if one.is_code and one.size and library.elf.machine == EM_X86_64
    ]
