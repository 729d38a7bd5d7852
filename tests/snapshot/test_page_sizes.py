"""Cores of kernels whose pages are larger than this machine's: the size is what the core says."""

from __future__ import annotations

import os
import struct

import pytest

from dualdbg.shared import page_size
from dualdbg.snapshot.core_file import Core, MappedFile, _read_notes
from dualdbg.watch import core_writer
from dualdbg.watch.core_writer import _Area
from tests.snapshot.test_arm64 import note, status

PAGES = pytest.mark.parametrize("page", [4096, 16384, 65536])


def _auxv(*pairs: tuple[int, int]) -> bytes:
    return note(6, b"".join(struct.pack("<QQ", *pair) for pair in (*pairs, (0, 0))), b"CORE\0")


@PAGES
@pytest.mark.parametrize("unit", [1, None], ids=["gcore", "kernel"])
def test_the_pages_of_a_core_are_those_of_its_kernel(page: int, unit: int | None) -> None:
    """The unit of the offsets in NT_FILE is no page size: gdb's gcore writes 1."""
    unit = unit or page
    rows = struct.pack("<QQ3Q", 1, unit, 8 * page, 9 * page, 2 * page // unit) + b"/lib/libx.so\0"
    core = Core("core")
    _read_notes(status(7, 0x100) + _auxv((33, 0x7000), (6, page)) + note(0x46494C45, rows, b"CORE\0"), core)
    assert (core.page, core.vdso) == (page, 0x7000)
    assert core.files == [MappedFile(8 * page, 9 * page, 2 * page, "/lib/libx.so")]


def test_a_core_that_tells_no_page_size() -> None:
    core = Core("core")
    _read_notes(status(7, 0x100) + _auxv((33, 0x7000)), core)
    assert core.page == page_size.SMALLEST


@PAGES
def test_what_is_written_of_mapped_files_is_read_back(page: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a mapped file a core keeps the first page, which names the build."""
    monkeypatch.setattr(core_writer, "_PAGE", page)
    areas = [
        _Area(4 * page, 6 * page, "r--p", 0, "/lib/libx.so"),
        _Area(6 * page, 9 * page, "r-xp", 3 * page, "/lib/libx.so"),
        _Area(9 * page, 10 * page, "rw-p", 6 * page, "/lib/libx.so", own=True),
    ]
    assert [area.kept for area in areas] == [page, 0, page]
    core = Core("core")
    _read_notes(status(7, 0x100) + note(0x46494C45, core_writer._files(areas), b"CORE\0"), core)
    assert core.files == [MappedFile(area.start, area.end, area.offset, area.path) for area in areas]


def test_this_machine_says_what_it_tells_its_processes() -> None:
    with open("/proc/self/auxv", "rb") as file:
        assert page_size.told_by(file.read()) == page_size.of_this_machine() == os.sysconf("SC_PAGESIZE")
