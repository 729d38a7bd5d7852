"""The part of a library that a debugger needs to walk through its frames, as a small ELF file of its own.

gdb reads every symbol of a file it is given (3.5 s for libtorch_cpu). Given a file with the library's
``.eh_frame`` and sections without contents where its code is, it unwinds as well and reads nothing else:

    add-symbol-file FILE -o BIAS

BIAS is that of the library's :class:`dualdbg.symbols.address_space.Module`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...shared.elf import HEADER, SECTION
from ...shared.symbol_table import ENTRY, STB_LOCAL, STT_FUNC, STT_OBJECT
from .. import cache
from ..elf.elf_file import SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS, SHT_STRTAB, SHT_SYMTAB, Section
from ..objfile import Objfile, Symbol

_FORMAT = 2  # of the files; a new number when their contents change
_ET_DYN = 3
_SHT_PROGBITS = 1
_SHN_ABS = 0xFFF1
_SHF_WRITE = 1
_LOCAL_OBJECT = STB_LOCAL << 4 | STT_OBJECT
_FUNCTION = STB_LOCAL << 4 | STT_FUNC
JIT_INTERFACE = ("__jit_debug_register_code", "__jit_debug_descriptor")
# gdb warns of a file without any symbol. This one names the frame table, which is no code.
_SYMBOL_NAME = b"dualdbg_unwind_table"


@dataclass(frozen=True)
class _Part:
    """A section of the new file."""

    name: str
    type: int
    flags: int
    address: int
    content: bytes | memoryview
    size: int
    alignment: int
    link: int = 0
    info: int = 0
    entry_size: int = 0


def unwind_file(library: Objfile) -> Path | None:
    """The file for ``library``, from the cache or made now; None when the library has no ``.eh_frame``.

    :raises OSError: there is no room for it anywhere.
    """
    table = library.elf.section(".eh_frame")
    if table is None or table.type == SHT_NOBITS or table.size == 0:
        return None
    found = _jit_symbols(library)
    holders = {_section_of(library, symbol) for symbol in found}
    code = [
        section
        for section in library.elf.sections
        if section.size and (section.is_code or section.index in holders)
    ]
    places = {section.index: number for number, section in enumerate(code, 2)}
    symbols = [
        (
            symbol.linkage_name.encode(),
            _FUNCTION if symbol.kind == "function" else _LOCAL_OBJECT,
            place,
            symbol,
        )
        for symbol in found
        if (place := places.get(_section_of(library, symbol))) is not None
    ]
    frames = _part_of(table, library.elf.view(table))
    chunks = _elf_file(library.elf.machine, [frames, *map(_empty_part_of, code)], symbols)
    name = f"unwind{_FORMAT}-{library.identity}-all.elf"
    return cache.look_up(name, sum(map(len, chunks))) or cache.store(name, chunks)


def has_jit_interface(library: Objfile) -> bool:
    """Whether the library tells debuggers of code that it makes; LLVM in all its forms does."""
    return "llvm" in Path(library.path).name.lower() and bool(library.find_functions(JIT_INTERFACE[0]))


def _jit_symbols(library: Objfile) -> list[Symbol]:
    """What gdb looks for: it stops at the function, and reads the list of objects (gdb manual, "JIT Interface")."""
    if not has_jit_interface(library):
        return []
    function, descriptor = JIT_INTERFACE
    return [*library.find_functions(function)[:1], *library.find_data(descriptor)[:1]]


def _section_of(library: Objfile, symbol: Symbol) -> int:
    for section in library.elf.sections:
        if section.flags & SHF_ALLOC and section.address <= symbol.address < section.address + section.size:
            return section.index
    return 0


def _part_of(section: Section, content: bytes | memoryview) -> _Part:
    return _Part(section.name, _SHT_PROGBITS, SHF_ALLOC, section.address, content, len(content), 8)


def _empty_part_of(section: Section) -> _Part:
    flags = SHF_ALLOC | (SHF_EXECINSTR if section.is_code else _SHF_WRITE)
    return _Part(section.name, SHT_NOBITS, flags, section.address, b"", section.size, section.alignment)


def _elf_file(
    machine: int, parts: list[_Part], symbols: list[tuple[bytes, int, int, Symbol]]
) -> list[bytes | memoryview]:
    """The pieces of an ELF file with these sections, the first of which gets a symbol; further ones are given with
    name, type and number of their section.
    """
    count = len(parts)
    place = 1 if parts[0].flags & SHF_ALLOC else _SHN_ABS
    symbol = ENTRY.pack(1, _LOCAL_OBJECT, 0, place, parts[0].address, parts[0].size)
    table = bytes(ENTRY.size) + symbol
    strings = b"\0" + _SYMBOL_NAME + b"\0"
    for text, type_, place, one in symbols:
        table += ENTRY.pack(len(strings), type_, 0, place, one.address, one.size)
        strings += text + b"\0"
    parts = [
        *parts,
        _Part(".symtab", SHT_SYMTAB, 0, 0, table, len(table), 8, count + 2, 2 + len(symbols), ENTRY.size),
        _Part(".strtab", SHT_STRTAB, 0, 0, strings, len(strings), 1),
    ]
    names = b"\0" + b"".join(part.name.encode() + b"\0" for part in parts) + b".shstrtab\0"
    parts.append(_Part(".shstrtab", SHT_STRTAB, 0, 0, names, len(names), 1))
    chunks: list[bytes | memoryview] = [b""]
    headers = [bytes(SECTION.size)]
    at, name = HEADER.size, 1
    for part in parts:
        padding = -at % 16
        chunks += [bytes(padding), part.content]
        at += padding
        headers.append(
            SECTION.pack(
                *(name, part.type, part.flags, part.address, at, part.size),
                *(part.link, part.info, part.alignment, part.entry_size),
            )
        )
        at += len(part.content)
        name += len(part.name) + 1
    padding = -at % 16
    chunks += [bytes(padding), *headers]
    identification = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")  # 64 bits, little endian
    chunks[0] = HEADER.pack(
        *(identification, _ET_DYN, machine, 1, 0, 0, at + padding, 0),
        *(HEADER.size, 56, 0, SECTION.size, len(headers), len(headers) - 1),
    )
    return chunks
