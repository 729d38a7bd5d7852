"""Whether the debug info of a file may name a function: a look at its strings, so that gdb reads only what has it."""

from __future__ import annotations

from ...shared.elf import SHF_COMPRESSED
from .elf_file import ElfFile

_LONGEST_INLINE = 16  # bytes; compilers write short names into .debug_info itself


def may_name(elf: ElfFile, identifier: str) -> bool:
    """False only where the DWARF of ``elf`` certainly has no function of this name, inlined or not.

    Strings that lie in another file (dwz, split DWARF) or are compressed may hold it.
    """
    if not elf.has_debug_info:
        return False
    info, strings = elf.section(".debug_info"), elf.section(".debug_str")
    if info is None or any(part is not None and part.flags & SHF_COMPRESSED for part in (info, strings)):
        return True
    if elf.section(".gnu_debugaltlink") is not None or elf.section(".debug_addr") is not None:
        return True
    name = identifier.encode()
    places = [strings] if strings is not None else []
    if len(name) < _LONGEST_INLINE:
        places.append(info)
    return any(
        elf.find(name + after, place.offset, place.end) >= 0 for place in places for after in (b"\0", b"<")
    )
