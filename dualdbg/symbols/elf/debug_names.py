"""Names of functions and source files in the debug info of a file, as its strings have them: a look at these spares gdb
the reading of it.
"""

from __future__ import annotations

import os
from pathlib import PurePath

from ...shared.elf import SHF_COMPRESSED, ElfFile, Section
from ...shared.string_table import StringTable

_LONGEST_INLINE = 16  # bytes; compilers write short names into .debug_info itself


def debug_strings(elf: ElfFile) -> StringTable | None:
    """The strings of the debug info of ``elf``; None where there are none, or none that can be searched in place."""
    section = elf.section(".debug_str")
    return None if section is None or section.flags & SHF_COMPRESSED else StringTable(elf, section)


def may_name(elf: ElfFile, identifier: str) -> bool:
    """False only where the DWARF of ``elf`` certainly has no function of this name, inlined or not.

    Strings that lie in another file (dwz, split DWARF) or are compressed may hold it.
    """
    if not elf.has_debug_info:
        return False
    info, strings = elf.section(".debug_info"), elf.section(".debug_str")
    if info is None or _is_compressed(info, strings) or _has_parts_elsewhere(elf):
        return True
    # The type that an operator converts to has other spellings in debug info (``operator long int``).
    converts = identifier.startswith("operator ")
    name, endings = (b"operator ", (b"",)) if converts else (identifier.encode(), (b"\0", b"<"))
    places = [strings] if strings is not None else []
    if len(name) < _LONGEST_INLINE:
        places.append(info)
    return any(elf.find(name + after, place.offset, place.end) >= 0 for place in places for after in endings)


def may_have_lines_of(elf: ElfFile, file: str) -> bool:
    """False only where the DWARF of ``elf`` certainly has no lines of a source file of this name; folders do not count.

    The names are in the line table itself up to DWARF 4, and in strings beside it from 5 on (DWARF 5, 6.2.4).
    """
    tables = [elf.section(name) for name in (".debug_line", ".debug_line_str", ".debug_str")]
    if _is_compressed(*tables) or _has_parts_elsewhere(elf):
        return True
    name = os.fsencode(PurePath(file).name) + b"\0"
    return any(elf.find(name, one.offset, one.end) >= 0 for one in tables if one is not None)


def _is_compressed(*sections: Section | None) -> bool:
    return any(one is not None and one.flags & SHF_COMPRESSED for one in sections)


def _has_parts_elsewhere(elf: ElfFile) -> bool:
    """Whether names of it may be in another file (dwz, split DWARF)."""
    return elf.section(".gnu_debugaltlink") is not None or elf.section(".debug_addr") is not None


def was_optimised_whole(elf: ElfFile) -> bool:
    """Whether some code of ``elf`` was optimised while it was linked, by GCC's name for the source of that code.

    False where its debug info cannot be searched.
    """
    sections = [elf.section(name) for name in (".debug_str", ".debug_line_str")]
    places = [one for one in sections if one is not None and not one.flags & SHF_COMPRESSED]
    return any(elf.find(b"<artificial>\0", place.offset, place.end) >= 0 for place in places)
