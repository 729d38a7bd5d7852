"""The entries of ``.eh_frame`` are found with the search table that linkers make, and without one."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from dualdbg.symbols.address_space import AddressSpace
from dualdbg.symbols.elf.eh_frame import FrameTable
from dualdbg.symbols.elf.elf_file import PT_GNU_EH_FRAME, ElfFile


def without_table(elf: ElfFile) -> ElfFile:
    """The same file, whose program header says nothing of ``.eh_frame_hdr``."""
    data = bytearray(elf.data)
    (headers,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in range(headers, headers + size * count, size):
        if struct.unpack_from("<I", data, at)[0] == PT_GNU_EH_FRAME:
            struct.pack_into("<I", data, at, 0)
    return ElfFile.from_bytes(bytes(data), elf.path)


def libraries() -> list[ElfFile]:
    space = AddressSpace(os.getpid())
    space.refresh()
    libraries = [module.library for module in space.modules]
    return [library.elf for library in libraries if library is not None and library.frames.count]


def test_the_entries_are_the_same_in_every_library_of_this_process() -> None:
    compared = 0
    for elf in libraries():
        with_table, without = FrameTable(elf), FrameTable(without_table(elf))
        assert without.count == with_table.count, elf.path
        assert without.starts == with_table.starts, elf.path
        some = with_table.starts[:: max(1, with_table.count // 200)]
        assert [without.find(start) for start in some] == [with_table.find(start) for start in some]
        compared += len(some)
    assert compared > 500


@pytest.mark.usefixtures("binutils")
def test_a_file_that_was_linked_without_a_table(build: Callable[..., Path]) -> None:
    path = build("shapes.cpp", "-O2", "-Wl,--no-eh-frame-hdr")
    elf = ElfFile.open(path)
    assert not any(segment.type == PT_GNU_EH_FRAME for segment in elf.segments)
    table = FrameTable(elf)
    assert table.count > 5 and all(table.find(start) is not None for start in table.starts)


def test_a_garbled_section_has_what_is_before_its_end(build: Callable[..., Path]) -> None:
    """Wherever it begins: in a length, in the place of a CIE, in an address."""
    elf = without_table(ElfFile.open(build("shapes.cpp", "-O2")))
    section = elf.section(".eh_frame")
    assert section is not None
    whole, counts = FrameTable(elf), []
    for good in range(0, section.size, 3):
        data = bytearray(elf.data)
        data[section.offset + good : section.offset + section.size] = b"\xff" * (section.size - good)
        table = FrameTable(ElfFile.from_bytes(bytes(data), elf.path))
        assert len(set(table.starts) - set(whole.starts)) <= 1, "the one whose address is cut"
        counts.append(table.count)
    assert counts == sorted(counts) and counts[0] == 0 and counts[-1] >= whole.count - 1 > 5
