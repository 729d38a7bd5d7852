"""ELF files with dualdbg's own errors; the reader itself is shared with the helpers in gdb."""

from __future__ import annotations

from ...errors import SymbolError
from ...shared import elf as shared
from ...shared.elf import (
    EM_AARCH64,
    EM_X86_64,
    PF_X,
    PT_GNU_EH_FRAME,
    PT_LOAD,
    PT_NOTE,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_GNU_VERDEF,
    SHT_GNU_VERNEED,
    SHT_NOBITS,
    SHT_STRTAB,
    SHT_SYMTAB,
    Section,
    build_id_of_notes,
)

__all__ = [
    "EM_AARCH64",
    "EM_X86_64",
    "PF_X",
    "PT_GNU_EH_FRAME",
    "PT_LOAD",
    "PT_NOTE",
    "SHF_ALLOC",
    "SHF_EXECINSTR",
    "SHT_GNU_VERDEF",
    "SHT_GNU_VERNEED",
    "SHT_NOBITS",
    "SHT_STRTAB",
    "SHT_SYMTAB",
    "ElfFile",
    "Section",
    "build_id_of_notes",
]


class ElfFile(shared.ElfFile):
    """:class:`dualdbg.shared.elf.ElfFile`, whose failures are :class:`SymbolError`."""

    failure = SymbolError
