"""The code that the kernel maps into every process, as a file: its symbols and how its frames are unwound."""

from __future__ import annotations

from functools import lru_cache

from ..errors import DualdbgError
from ..symbols.address_space import AddressSpace, Module
from ..symbols.elf.elf_file import ElfFile
from ..symbols.objfile import Objfile
from .linux.memory import Memory, ProcessMemory


def vdso_of(image: AddressSpace, memory_file: int | None) -> list[Module]:
    """The code that the kernel maps into every process; it never changes while the process lives."""
    row = next((row for row in image.rows if row.endswith("[vdso]")), None)
    if row is None:
        return []
    return [_mapped_vdso(image.pid, memory_file, row)]


@lru_cache(maxsize=64)
def _mapped_vdso(pid: int, memory_file: int | None, row: str) -> Module:
    start, end = (int(each, 16) for each in row.partition(" ")[0].split("-"))
    return vdso(ProcessMemory(pid, memory_file), start, end)


def vdso(memory: Memory, start: int, end: int) -> Module:
    """The kernel's code in a process, as it is mapped there."""
    try:
        file = _vdso_file(memory.read(start, end - start))
        return Module("[vdso]", start, end, start - file.elf.loads()[0].address, file)
    except (DualdbgError, IndexError) as error:
        return Module("[vdso]", start, end, start, None, str(error))


@lru_cache(maxsize=4)
def _vdso_file(content: bytes) -> Objfile:
    """All processes of a kernel have the same."""
    return Objfile(ElfFile.from_bytes(content, "[vdso]"))
