"""Symbol versions: those that a library defines (.gnu.version_d) and those that it needs (.gnu.version_r).

Layout: "ELF Symbol Versioning" in the Linux Standard Base 5; the tables are chains of relative offsets.
"""

from __future__ import annotations

import struct

from .elf_file import SHT_GNU_VERDEF, SHT_GNU_VERNEED, ElfFile, Section

_VERDEF = struct.Struct("<HHHHIII")  # version, flags, index, count of names, hash, to the names, to the next
_VERDAUX = struct.Struct("<II")  # name, to the next
_VERNEED = struct.Struct("<HHIII")  # version, count, file, to the versions, to the next
_VERNAUX = struct.Struct("<IHHII")  # hash, flags, other, name, to the next
_VER_FLG_BASE, _VER_FLG_WEAK = 1, 2


def defined_versions(elf: ElfFile) -> frozenset[str]:
    """The versions that the library defines, without the base entry, which is the library's own name."""
    versions = set()
    for section in _sections(elf, SHT_GNU_VERDEF):
        at = section.offset
        for _ in range(section.info):
            _, flags, _, _, _, names, following = elf.unpack(_VERDEF, at)
            (name, _) = elf.unpack(_VERDAUX, at + names)
            if not flags & _VER_FLG_BASE:
                versions.add(_text(elf, section, name))
            if following == 0:
                break
            at += following
    return frozenset(versions)


def needed_versions(elf: ElfFile) -> dict[str, tuple[str, ...]]:
    """Library name (as in DT_NEEDED) -> the versions that must be there; weak needs are left out."""
    needs: dict[str, tuple[str, ...]] = {}
    for section in _sections(elf, SHT_GNU_VERNEED):
        at = section.offset
        for _ in range(section.info):
            _, count, file, versions, following = elf.unpack(_VERNEED, at)
            needs[_text(elf, section, file)] = tuple(_versions(elf, section, at + versions, count))
            if following == 0:
                break
            at += following
    return needs


def _versions(elf: ElfFile, section: Section, at: int, count: int) -> list[str]:
    names = []
    for _ in range(count):
        _, flags, _, name, following = elf.unpack(_VERNAUX, at)
        if not flags & _VER_FLG_WEAK:
            names.append(_text(elf, section, name))
        if following == 0:
            break
        at += following
    return names


def _sections(elf: ElfFile, kind: int) -> list[Section]:
    return [section for section in elf.sections if section.type == kind and section.link < len(elf.sections)]


def _text(elf: ElfFile, section: Section, offset: int) -> str:
    strings = elf.sections[section.link]
    return elf.string_at(strings.offset + offset, strings.end)
