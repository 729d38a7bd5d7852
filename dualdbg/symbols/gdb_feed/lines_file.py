"""A copy of a library whose debug info has functions and lines alone: gdb reads it in a third of the time.

Types and variables are most of what gdb reads, and a stop needs none of them. In the copy they have the tag of a
statement of Fortran that gdb passes over, with all that is in it (``process_die`` in gdb/dwarf2/read.c). Classes are
name spaces there: functions are in them, and have their names from them. All else is as it was, so functions, inlined
ones too, and lines are where they are in the library itself. The symbol table is left out, for names of functions come
from our own search, but for those of inlined ones (:func:`as_in_library`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ...shared.elf import HEADER, SECTION
from .. import cache
from ..elf.elf_file import SHT_NOBITS, SHT_SYMTAB, Section
from ..objfile import Objfile

_FORMAT = 1  # of the files; a new number when their contents change
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
_IMPLICIT_CONST = 0x21  # a form whose value is in the abbreviation
# Debug info that has more parts, or an index of them that names types too.
_REFUSED = (".debug_types", ".gnu_debugaltlink", ".gdb_index", ".debug_names", ".debug_cu_index")
_LINK_TIME = b"GNU GIMPLE"  # a compiler, as debug info has it (DW_AT_producer)
_OF_LAMBDA = re.compile(r"\(anonymous namespace\)::(?=operator\(\)|operator (?!new\b|delete\b)|_FUN\b)")


def lines_file(library: Objfile) -> Path | None:
    """The copy of ``library``, from the cache or made now; None where the form of its debug info is another one.

    :raises OSError: there is no room for it anywhere.
    """
    if library.debug_file is not None:
        return None
    elf = library.elf
    name = f"lines{_FORMAT}-{library.identity}.elf"
    known = cache.look_up(name, elf.size)
    if known is not None:
        return known
    table = elf.section(".debug_abbrev")
    if table is None or any(map(elf.section, _REFUSED)):
        return None
    if any(one.flags & _SHF_COMPRESSED for one in elf.sections) or table.type == SHT_NOBITS:
        return None
    if _is_of_link_time(library):
        return None
    abbreviations = _without_types(bytes(elf.view(table)))
    if abbreviations is None:
        return None
    return cache.store(name, _copy(library, table, abbreviations))


def _is_of_link_time(library: Objfile) -> bool:
    """Whether GCC has made its code while linking: gdb leaves out inlined functions there that it has in a copy."""
    texts = library.elf.section(".debug_str")
    return texts is not None and library.elf.find(_LINK_TIME, texts.offset, texts.end) >= 0


def as_in_library(name: str) -> str:
    """The name of an inlined function as gdb has it when it has read all: a lambda's class, which has no name, is no
    scope. What is called as its functions is no free function.
    """
    return _OF_LAMBDA.sub("", name)


def _copy(library: Objfile, table: Section, abbreviations: bytes) -> list[bytes | memoryview]:
    """The pieces of the file: the library with these abbreviations, and without symbols."""
    data = library.elf.data
    headers = HEADER.unpack_from(data)[6]
    pieces = [(table.offset, abbreviations)]
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


def _without_types(table: bytes) -> bytes | None:
    """Abbreviations (DWARF 5, 7.5.3) in which what is no code has no meaning; None where some units are elsewhere."""
    found = bytearray(table)
    try:
        for at, tag in _tags(table):
            if tag in _PARTS_ELSEWHERE:
                return None
            if tag < 0x80 and tag not in _CODE:
                found[at] = _NAMESPACE if tag in _CLASSES else _COMMON_INCLUSION
    except IndexError:  # cut off, or no abbreviations
        return None
    return bytes(found)


def _tags(table: bytes) -> Iterator[tuple[int, int]]:
    """Where each abbreviation has its tag, and which."""
    at = 0
    while at < len(table):
        code, at = _number(table, at)
        if code == 0:  # the end of those of a unit
            continue
        tag, behind = _number(table, at)
        yield at, tag
        at = behind + 1  # whether it has children
        attribute = form = -1
        while attribute or form:
            attribute, at = _number(table, at)
            form, at = _number(table, at)
            if form == _IMPLICIT_CONST:
                _, at = _number(table, at)


def _number(table: bytes, at: int) -> tuple[int, int]:
    """A number in LEB128, and what is behind it."""
    number = shift = 0
    while table[at] & 0x80:
        number |= (table[at] & 0x7F) << shift
        shift += 7
        at += 1
    return number | table[at] << shift, at + 1
