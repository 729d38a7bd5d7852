"""The part of a library that a debugger needs to walk through its frames, as a small ELF file of its own.

gdb reads every symbol of a file it is given (3.5 s for libtorch_cpu). Given a file with the library's
``.eh_frame`` and sections without contents where its code is, it unwinds as well and reads nothing else:

    add-symbol-file FILE -o BIAS

BIAS is :func:`dualdbg.symbols.library.load_bias`.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import cache
from .eh_frame import DW_EH_PE_absptr, DW_EH_PE_pcrel_sdata4, DW_EH_PE_pcrel_sdata8, Fde
from .elf import SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS, SHT_STRTAB, SHT_SYMTAB, Section
from .library import Library

_FORMAT = 1  # of the files; a new number when their contents change
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_ET_DYN = 3
_SHT_PROGBITS = 1
_LOCAL_OBJECT = 1  # STB_LOCAL << 4 | STT_OBJECT
# How a function's start is written in entries that can be moved: relative to itself, or absolute.
_COPIED = {DW_EH_PE_pcrel_sdata4: "<i", DW_EH_PE_pcrel_sdata8: "<q", DW_EH_PE_absptr: None}
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


def unwind_file(library: Library, around: Iterable[int] | None = None) -> Path | None:
    """The file for ``library``, from the cache or made now; None when the library has no ``.eh_frame``.

    With ``around``, link-time addresses, the file holds the frame entries of only the functions that
    contain one of them: it is made in a millisecond and costs gdb next to nothing, but gdb cannot
    unwind through other functions by it. (An encoding that no compiler for these machines writes gets
    the whole table.)

    :raises OSError: there is no room for it anywhere.
    """
    table = library.elf.section(".eh_frame")
    if table is None or table.type == SHT_NOBITS or table.size == 0:
        return None
    code = [section for section in library.elf.sections if section.is_code and section.size]
    content: bytes | memoryview = library.elf.view(table)
    kind = "all"
    if around is not None:
        entries = {fde.offset: fde for vaddr in around if (fde := library.frames.find(vaddr))}
        if all(_can_be_moved(library, fde) for fde in entries.values()):
            content = _copy_of(library, table.address, [fde for _, fde in sorted(entries.items())])
            kind = hashlib.blake2b(content, digest_size=8).hexdigest()
    chunks = _elf_file(library.elf.machine, [_part_of(table, content), *map(_empty_part_of, code)])
    name = f"unwind{_FORMAT}-{library.identity}-{kind}.elf"
    return cache.look_up(name, sum(map(len, chunks))) or cache.store(name, chunks)


def _can_be_moved(library: Library, fde: Fde) -> bool:
    """True for the forms that compilers write; the 64-bit form of the length field is none of them."""
    return fde.pointer_encoding in _COPIED and library.elf.bytes_at(fde.offset, 4) != b"\xff\xff\xff\xff"


def _copy_of(library: Library, address: int, fdes: Sequence[Fde]) -> bytes:
    """An ``.eh_frame`` at ``address`` with only these entries and their CIEs, relative fields adjusted."""
    content = bytearray()
    cies: dict[int, int] = {}
    for fde in fdes:
        if fde.cie_offset not in cies:
            (length,) = struct.unpack("<I", library.elf.bytes_at(fde.cie_offset, 4))
            cies[fde.cie_offset] = len(content)
            content += library.elf.bytes_at(fde.cie_offset, 4 + length)
        entry = bytearray(library.elf.bytes_at(fde.offset, fde.size))
        at = len(content)
        struct.pack_into("<I", entry, 4, at + 4 - cies[fde.cie_offset])
        form = _COPIED[fde.pointer_encoding]
        if form is not None:
            struct.pack_into(form, entry, 8, fde.start - (address + at + 8))
        content += entry
    return bytes(content + b"\0\0\0\0")


def _part_of(section: Section, content: bytes | memoryview) -> _Part:
    return _Part(section.name, _SHT_PROGBITS, SHF_ALLOC, section.address, content, len(content), 8)


def _empty_part_of(section: Section) -> _Part:
    flags = SHF_ALLOC | SHF_EXECINSTR
    return _Part(section.name, SHT_NOBITS, flags, section.address, b"", section.size, section.alignment)


def _elf_file(machine: int, parts: list[_Part]) -> list[bytes | memoryview]:
    """The pieces of an ELF file with these sections, the first of which gets the one symbol."""
    count = len(parts)
    symbol = _SYMBOL.pack(1, _LOCAL_OBJECT, 0, 1, parts[0].address, parts[0].size)
    table = bytes(_SYMBOL.size) + symbol
    strings = b"\0" + _SYMBOL_NAME + b"\0"
    parts = [
        *parts,
        _Part(".symtab", SHT_SYMTAB, 0, 0, table, len(table), 8, count + 2, 2, _SYMBOL.size),
        _Part(".strtab", SHT_STRTAB, 0, 0, strings, len(strings), 1),
    ]
    names = b"\0" + b"".join(part.name.encode() + b"\0" for part in parts) + b".shstrtab\0"
    parts.append(_Part(".shstrtab", SHT_STRTAB, 0, 0, names, len(names), 1))
    chunks: list[bytes | memoryview] = [b""]
    headers = [bytes(_SECTION.size)]
    at, name = _HEADER.size, 1
    for part in parts:
        padding = -at % 16
        chunks += [bytes(padding), part.content]
        at += padding
        headers.append(
            _SECTION.pack(
                *(name, part.type, part.flags, part.address, at, part.size),
                *(part.link, part.info, part.alignment, part.entry_size),
            )
        )
        at += len(part.content)
        name += len(part.name) + 1
    padding = -at % 16
    chunks += [bytes(padding), *headers]
    identification = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")  # 64 bits, little endian
    chunks[0] = _HEADER.pack(
        *(identification, _ET_DYN, machine, 1, 0, 0, at + padding, 0),
        *(_HEADER.size, 56, 0, _SECTION.size, len(headers), len(headers) - 1),
    )
    return chunks
