"""Symbols that were taken out of a library: split debug files, and the small table some distributions leave in.

Where to look is gdb's order (gdb manual, "Debugging Information in Separate Files"): the build-id below a
``debug-file-directory``, then the name in ``.gnu_debuglink``.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

from dualdbg.errors import SymbolError

from .elf_file import ElfFile

DEBUG_ROOTS = (Path("/usr/lib/debug"),)


def find_debug_file(elf: ElfFile, roots: Sequence[Path] = DEBUG_ROOTS) -> Path | None:
    """The split debug file that belongs to ``elf``, by build-id or else by the checksum of its contents."""
    for path in _candidates(elf, roots):
        if path.is_file() and _belongs(path, elf):
            return path
    return None


def _candidates(elf: ElfFile, roots: Sequence[Path]) -> list[Path]:
    paths = []
    if elf.build_id is not None:
        paths += [root / ".build-id" / elf.build_id[:2] / f"{elf.build_id[2:]}.debug" for root in roots]
    if elf.debuglink is not None:
        name = elf.debuglink[0]
        folder = Path(elf.path).resolve().parent
        paths += [folder / name, folder / ".debug" / name]
        paths += [root / folder.relative_to("/") / name for root in roots]
    return paths


def _belongs(path: Path, elf: ElfFile) -> bool:
    try:
        debug = ElfFile.open(path)
    except SymbolError:  # the file of that name is no debug file: as good as absent
        return False
    if elf.build_id is not None and debug.build_id is not None:
        return elf.build_id == debug.build_id
    return elf.debuglink is not None and zlib.crc32(debug.data) == elf.debuglink[1]


def mini_debug_info(elf: ElfFile) -> ElfFile | None:
    """The ELF file in ``.gnu_debugdata``: a table of the local functions that .dynsym does not name.

    :raises SymbolError: the section is there and cannot be unpacked.
    """
    section = elf.section(".gnu_debugdata")
    if section is None:
        return None
    try:
        import lzma
    except ImportError:  # Python was built without liblzma, as pyenv does where it is not installed
        return None
    try:
        data = lzma.decompress(elf.contents(section))
    except lzma.LZMAError as error:
        raise elf.garbled(".gnu_debugdata cannot be unpacked") from error
    return ElfFile.from_bytes(data, f"{elf.path} (.gnu_debugdata)")
