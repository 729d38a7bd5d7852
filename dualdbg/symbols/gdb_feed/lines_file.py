"""A copy of a library whose debug info has functions and lines alone: gdb reads it in a third of the time.

Types and variables are most of what gdb reads, and a stop needs none of them. In the copy they have the tag of a
statement of Fortran that gdb passes over, with all that is in it (``process_die`` in gdb/dwarf2/read.c). Classes are
name spaces there: functions are in them, and have their names from them. All else is as it was, so functions, inlined
ones too, and lines are where they are in the library itself. The symbol table is left out, for names of functions come
from our own search, but for those of inlined ones (:func:`as_in_library`).

Of code that was not optimised hardly anything was inlined. There C++ is said to be a language without scopes, and
linkage names are left out: gdb makes no names for each function then, which takes it half of what is left.
"""

from __future__ import annotations

import re
from pathlib import Path

from ...shared.elf import HEADER, SECTION
from ...shared.producers import is_optimized
from ...shared.string_table import StringTable
from .. import cache
from ..elf.elf_file import SHT_NOBITS, SHT_SYMTAB, Section
from ..objfile import Objfile
from .units import UnknownForm, abbreviations, units

_FORMAT = 2  # of the files; a new number when their contents change
_SHT_DYNSYM = 11
_SHF_COMPRESSED = 0x800
# DWARF 5, 7.5.3: entries that say where code is, of what it is a part, and where it calls.
_CODE = {
    0x03: "entry point",
    0x0B: "lexical block",
    0x11: "compile unit",
    0x1D: "inlined subroutine",
    0x1E: "module",
    0x2E: "subprogram",
    0x39: "namespace",
    0x48: "call site",
    0x49: "call site parameter",
}
_CLASSES = {0x02: "class", 0x13: "structure", 0x17: "union"}
_NAMESPACE = 0x39
# Has one byte, as the tags in the place of which it is put. Of one that it does not know gdb would make a symbol.
_COMMON_INCLUSION = 0x1B
_PARTS_ELSEWHERE = {0x3C: "partial unit", 0x3D: "imported unit", 0x41: "type unit", 0x4A: "skeleton unit"}
# Debug info that has more parts, or an index of them that names types too.
_REFUSED = (".debug_types", ".gnu_debugaltlink", ".gdb_index", ".debug_names", ".debug_cu_index")
_LINKAGE_NAME, _RESERVED = 0x6E, 0x75  # attributes; the second is none
_PLAIN = "plain"  # how the names of copies without scopes begin
PLAIN_CXX = (
    "opencl"  # gdb's name for the language of C++ in these; no code for processors like ours is written in it
)
_CXX, _OPENCL = (0x04, 0x1A, 0x21, 0x2B, 0x2C), 0x15  # DWARF 5, 7.12, and its list of languages since
_LINK_TIME = b"GNU GIMPLE"  # a compiler, as debug info has it (DW_AT_producer)
_OF_LAMBDA = re.compile(r"\(anonymous namespace\)::(?=operator\(\)|operator (?!new\b|delete\b)|_FUN\b)")


def lines_file(library: Objfile) -> Path | None:
    """The copy of ``library``, from the cache or made now; None where the form of its debug info is another one.

    :raises OSError: there is no room for it anywhere.
    """
    if library.debug_file is not None:
        return None
    elf = library.elf
    names = [f"{kind}{_FORMAT}-{library.identity}.elf" for kind in (_PLAIN, "lines")]
    known = next((path for name in names if (path := cache.look_up(name, elf.size)) is not None), None)
    if known is not None:
        return known
    table = elf.section(".debug_abbrev")
    if table is None or any(map(elf.section, _REFUSED)):
        return None
    if any(one.flags & _SHF_COMPRESSED for one in elf.sections) or table.type == SHT_NOBITS:
        return None
    if _is_of_link_time(library):
        return None
    languages = _cxx_without_optimisation(library, table)
    copy = _copy(library, table, languages)
    return cache.store(names[languages is None], copy) if copy is not None else None


def is_plain(path: Path) -> bool:
    """Whether a copy has no scopes: gdb has names of inlined functions without them, and C++ as :data:`PLAIN_CXX`."""
    return path.name.startswith(_PLAIN)


def _is_of_link_time(library: Objfile) -> bool:
    """Whether GCC has made its code while linking: gdb leaves out inlined functions there that it has in a copy."""
    texts = library.elf.section(".debug_str")
    return texts is not None and library.elf.find(_LINK_TIME, texts.offset, texts.end) >= 0


def as_in_library(name: str) -> str:
    """The name of an inlined function as gdb has it when it has read all: a lambda's class, which has no name, is no
    scope. What is called as its functions is no free function.
    """
    return _OF_LAMBDA.sub("", name)


def _copy(library: Objfile, table: Section, languages: list[int] | None) -> list[bytes | memoryview] | None:
    """The pieces of the file: the library without types and symbols. None where some units are elsewhere.

    ``languages``: where units say that they are C++, when that is to be left out too.
    """
    data = library.elf.data
    without_types = _without_types(bytes(library.elf.view(table)), languages is None)
    if without_types is None:
        return None
    headers = HEADER.unpack_from(data)[6]
    pieces = [(table.offset, without_types)]
    pieces += [(at, bytes((_OPENCL,))) for at in languages or ()]
    for section in library.elf.sections:
        if section.type in (SHT_SYMTAB, _SHT_DYNSYM):
            at = headers + section.index * SECTION.size
            name, _, *rest = SECTION.unpack_from(data, at)
            pieces.append((at, SECTION.pack(name, SHT_NOBITS, *rest)))
    chunks: list[bytes | memoryview] = []
    done = 0
    for at, piece in sorted(pieces):
        chunks += [data[done:at], piece]
        done = at + len(piece)
    return [*chunks, data[done:]]


def _cxx_without_optimisation(library: Objfile, table: Section) -> list[int] | None:
    """Where in the file the units of C++ say their language. None unless there are some, and GCC has optimised none."""
    info, texts = library.elf.section(".debug_info"), library.elf.section(".debug_str")
    if info is None or texts is None:
        return None
    strings = StringTable(library.elf, texts)

    def text_at(offset: int) -> str:
        return strings.at(texts.offset + offset).decode("utf-8", "replace")

    found = []
    try:
        for unit in units(bytes(library.elf.view(info)), bytes(library.elf.view(table)), text_at):
            if is_optimized(unit.producer) is not False:
                return None
            found += [info.offset + unit.at] if unit.language in _CXX else []
    except (UnknownForm, IndexError, ValueError):
        return None
    return found or None


def _without_types(table: bytes, with_linkage_names: bool) -> bytes | None:
    """Abbreviations (DWARF 5, 7.5.3) in which what is no code has no meaning; None where some units are elsewhere."""
    found = bytearray(table)
    try:
        for one in abbreviations(table):
            if one.tag in _PARTS_ELSEWHERE:
                return None
            if one.code and one.tag < 0x80 and one.tag not in _CODE:
                found[one.at] = _NAMESPACE if one.tag in _CLASSES else _COMMON_INCLUSION
            if not with_linkage_names:
                for at, attribute, _ in one.attributes:
                    if attribute == _LINKAGE_NAME:
                        found[at] = _RESERVED
    except IndexError:  # cut off, or no abbreviations
        return None
    return bytes(found)
