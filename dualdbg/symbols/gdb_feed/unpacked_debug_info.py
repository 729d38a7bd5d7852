"""A copy of the C library's debug info that is not compressed: gdb reads it in 10 ms, and in 45 ms where it unpacks it.

gdb reads the debug info of the C library whenever it attaches (``libpthread_solib_p`` in gdb/solib.c), and
distributions compress it (gABI, "Section Compression"). A debug file that gdb finds by build-id may lie in any folder
of its ``debug-file-directory``: ours has the copy, and comes first.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

from ...errors import SymbolError
from ...shared.elf import HEADER, SECTION, SHF_COMPRESSED
from ...shared.proc_files import mappings, read_maps
from .. import cache
from ..elf.elf_file import SHT_NOBITS, ElfFile, Section
from ..objfile import Objfile

_FORMAT = 1  # of the files; a new number when their contents change
_C_LIBRARY = "libc."  # what gdb knows it by
_ZLIB = 1  # ELFCOMPRESS_ZLIB
_COMPRESSION_HEADER = 24  # bytes of an Elf64_Chdr: type (4), reserved (4), size (8), alignment (8)
MOST_KEPT = 4  # copies of 10 MB: other C libraries come with other containers
_ALIGNMENT = 16


def debug_folder() -> Path | None:
    """A folder for gdb's ``debug-file-directory`` that has the copy for the C library of this process, which most
    programs on the machine have. None where its debug info is not installed, or gains nothing by a copy.
    """
    folder = cache.cache_directory() / f"debug{_FORMAT}"
    library = c_library()
    if library is None or library.build_id is None or not cache.is_kept() or os.pathsep in str(folder):
        return None
    copy = folder / ".build-id" / library.build_id[:2] / f"{library.build_id[2:]}.debug"
    try:
        os.utime(copy)
    except OSError:
        debug_file = library.debug_file
        pieces = unpacked(ElfFile.open(debug_file)) if debug_file is not None else None
        if pieces is None:
            return None
        try:
            cache.store_below(copy, pieces)
            _drop_old(folder)
        except OSError:  # no room: gdb unpacks it by itself
            return None
    return folder


def c_library() -> Objfile | None:
    """The C library of this process, where it has one by a name that gdb knows."""
    for row in mappings(read_maps(os.getpid())):
        if Path(row.path).name.startswith(_C_LIBRARY):
            try:
                return Objfile.open(row.path)
            except SymbolError:  # the kernel may name it by another mount of it, where dualdbg cannot go
                return None
    return None


def _drop_old(folder: Path) -> None:
    """Keep those that were used last."""
    copies = sorted(folder.glob(".build-id/*/*.debug"), key=lambda path: path.stat().st_mtime)
    for path in copies[:-MOST_KEPT]:
        path.unlink(missing_ok=True)


def unpacked(elf: ElfFile) -> list[bytes | memoryview] | None:
    """The pieces of a file like ``elf`` in which no section is compressed.

    None where none is, where one cannot be unpacked here, or where some of the debug info is in another file, which is
    found by its path from this one (``.gnu_debugaltlink``).
    """
    if elf.section(".gnu_debugaltlink") or not any(one.flags & SHF_COMPRESSED for one in elf.sections):
        return None
    filled = [one for one in elf.sections if one.index and one.type != SHT_NOBITS and one.size]
    start = min(one.offset for one in filled)  # behind the program headers
    pieces: list[bytes | memoryview] = [elf.data[HEADER.size : start]]
    at = start
    moved: dict[int, tuple[int, int, int]] = {}  # by number: offset, size and alignment
    for section in filled:
        content, alignment = _content(elf, section)
        if content is None:
            return None
        padding = bytes(-at % max(_ALIGNMENT, alignment))
        at += len(padding)
        moved[section.index] = at, len(content), alignment
        pieces += [padding, content]
        at += len(content)
    padding = bytes(-at % _ALIGNMENT)
    header = list(HEADER.unpack_from(elf.data))
    headers, header[6] = header[6], at + len(padding)
    table = [
        _section_header(elf, headers + one.index * SECTION.size, moved.get(one.index)) for one in elf.sections
    ]
    return [HEADER.pack(*header), *pieces, padding, *table]


def _content(elf: ElfFile, section: Section) -> tuple[bytes | memoryview | None, int]:
    """The bytes of a section and their alignment; None where they cannot be unpacked."""
    raw = elf.view(section)
    if not section.flags & SHF_COMPRESSED:
        return raw, section.alignment
    kind = int.from_bytes(raw[:4], "little")
    size, alignment = (int.from_bytes(raw[at : at + 8], "little") for at in (8, 16))
    if kind != _ZLIB:
        return None, 0
    try:
        content = zlib.decompress(raw[_COMPRESSION_HEADER:])
    except zlib.error:
        return None, 0
    return (content if len(content) == size else None), alignment


def _section_header(elf: ElfFile, at: int, moved: tuple[int, int, int] | None) -> bytes:
    """The header of a section at offset ``at``, of one that has been moved as it is there."""
    name, kind, flags, address, offset, size, link, info, alignment, entry = SECTION.unpack_from(elf.data, at)
    if moved is not None:
        offset, size, alignment = moved
        flags &= ~SHF_COMPRESSED
    return SECTION.pack(name, kind, flags, address, offset, size, link, info, alignment, entry)
