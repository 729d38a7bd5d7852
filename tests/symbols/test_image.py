"""The rows of /proc/PID/maps: what is a loaded file, and what only its data."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualdbg.shared import page_size
from dualdbg.shared.elf import PF_X, PT_LOAD, Segment
from dualdbg.shared.images import images, runs
from dualdbg.shared.proc_files import Mapping, mappings
from dualdbg.symbols.address_space import AddressSpace, Module
from dualdbg.symbols.elf.elf_file import ElfFile

_PAGE = 4096
# Of kernels: bytes of a page, and what the segments of a file are aligned to there (of AArch64 to the largest pages).
_PAGES = ((4096, 4096), (4096, 65536), (16384, 65536), (65536, 65536))
TWICE = """\
10000-11000 r--p 00000000 08:01 7 /lib/libx.so
11000-12000 r-xp 00001000 08:01 7 /lib/libx.so
12000-13000 r--p 00002000 08:01 7 /lib/libx.so
13000-14000 rw-p 00002000 08:01 7 /lib/libx.so
20000-30000 r--s 00000000 08:01 7 /lib/libx.so
40000-41000 r--p 00000000 08:01 7 /lib/libx.so
41000-42000 r-xp 00001000 08:01 7 /lib/libx.so
42000-46000 r--p 00000000 08:01 7 /lib/libx.so
"""
LOADS = [
    Segment(PT_LOAD, flags, offset, address, size, size, _PAGE)
    for flags, offset, address, size in (
        (4, 0, 0, 0x800),
        (5, 0x1000, 0x1000, 0x900),
        (4, 0x2000, 0x2000, 0x100),
        (6, 0x2100, 0x3100, 0x100),
    )
]


def test_a_file_that_is_loaded_twice_and_read_as_data() -> None:
    first, second = images(mappings(TWICE), LOADS, _PAGE)
    assert [row.start for row in first.rows] == [0x10000, 0x11000, 0x12000, 0x13000]
    assert [row.start for row in second.rows] == [0x40000, 0x41000]
    assert (first.bias, first.end, second.bias, second.end) == (0x10000, 0x14000, 0x40000, 0x42000)
    assert [run[0].start for run in runs(mappings(TWICE))] == [0x10000, 0x40000, 0x42000]


def test_rows_of_a_core_have_no_modes() -> None:
    """Of a small file the last page of the code is the first one of the data."""
    loads = [
        Segment(PT_LOAD, flags, offset, address, 0x100, 0x100, _PAGE)
        for flags, offset, address in ((5, 0, 0), (6, 0x100, 0x1100))
    ]
    rows = [Mapping(0x10000, 0x11000, 0, "/x"), Mapping(0x11000, 0x12000, 0, "/x")]
    (one,) = images(rows, loads, _PAGE)
    assert (one.bias, one.rows) == (0x10000, tuple(rows))


@pytest.mark.parametrize(("page", "alignment"), _PAGES)
@pytest.mark.parametrize("modes", [True, False])
def test_the_last_page_of_the_code_reaches_past_the_end_of_a_small_file(
    page: int, alignment: int, modes: bool
) -> None:
    """As lld links it: all of the file is within the first page of a kernel with large ones."""
    sizes = ((5, 0, 0, 0x900), (6, 0x900, alignment + 0x900, 0x100))
    loads = [Segment(PT_LOAD, flags, offset, at, size, size, alignment) for flags, offset, at, size in sizes]
    rows = _loaded(loads, 1 << 40, modes, page)
    assert [(one.bias, list(one.rows)) for one in images(rows, loads, page)] == [(1 << 40, rows)]


@pytest.mark.parametrize(("page", "alignment"), _PAGES)
def test_a_file_of_a_few_bytes_twice_in_a_row_and_beside_its_data(page: int, alignment: int) -> None:
    """All rows show the first page: each but the last could be the code of an image with the rows around it."""
    loads = [
        Segment(PT_LOAD, flags, n, n * (alignment + 1), 1, 1, alignment)
        for n, flags in enumerate((4, 5, 4, 6))
    ]
    biases = [(1 << 40) + n * 4 * alignment for n in (1, 2)]
    data = Mapping((1 << 40) + 2 * alignment, (1 << 40) + 4 * alignment, 0, "/x")
    rows = [row for bias in biases for row in _loaded(loads, bias, False, page)]
    for beside in ([], [data]):
        assert [one.bias for one in images([*beside, *rows], loads, page)] == biases


@st.composite
def _segments(draw: st.DrawFn, alignment: int) -> list[Segment]:
    """Loadable segments as linkers lay them out: their pages are apart in memory, and may be shared in the file."""
    found, offset, address = [], 0, draw(st.sampled_from([0, 0x400000]))
    kinds = draw(st.sampled_from([(4, 5, 4, 6), (5, 6), (4, 5, 6), (5, 4, 6)]))
    for flags in kinds:
        size = draw(st.integers(1, 5 * _PAGE))
        found.append(Segment(PT_LOAD, flags, offset, address + offset % alignment, size, size, alignment))
        address += -(-(offset % alignment + size) // alignment) * alignment
        address += draw(st.integers(0, 2)) * alignment
        offset += size
        if draw(st.booleans()):
            offset = -(-offset // alignment) * alignment
    return found


def _loaded(loads: list[Segment], bias: int, modes: bool, page: int) -> list[Mapping]:
    rows = []
    for one in loads:
        first, end = one.offset // page * page, -(-(one.offset + one.file_size) // page) * page
        start = bias + one.address // page * page
        mode = {4: "r--p", 5: "r-xp", 6: "rw-p"}[one.flags] if modes else ""
        rows.append(Mapping(start, start + end - first, first, "/x", mode))
    return rows


@given(
    st.data(),
    st.sampled_from(_PAGES),
    st.lists(st.booleans(), min_size=1, max_size=4),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_images_are_told_from_data(
    data: st.DataObject, pages: tuple[int, int], kinds: list[bool], modes: bool, random: object
) -> None:
    """``kinds``: whether the file is loaded or mapped whole as data, one directly behind the other."""
    page, alignment = pages
    loads = data.draw(_segments(alignment))
    whole = -(-(loads[-1].offset + loads[-1].file_size + 3 * page) // page) * page
    rows: list[Mapping] = []
    biases = []
    at = 1 << 40
    for is_image in kinds:
        if is_image:
            bias = at - loads[0].address // page * page
            biases.append(bias)
            rows += _loaded(loads, bias, modes, page)
        else:
            rows.append(Mapping(at, at + whole, 0, "/x", "r--p" if modes else ""))
        at = rows[-1].end
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = images(shuffled, loads, page)
    assert [image.bias for image in found] == biases
    for image in found:
        assert list(image.rows) == _loaded(loads, image.bias, modes, page)


def test_the_images_of_a_real_library(build: Callable[..., Path]) -> None:
    """Its own headers say which of the rows are data, however it was linked."""
    for flags in ((), ("-Wl,-z,noseparate-code",)):
        elf = ElfFile.open(str(build("shapes.cpp", *flags)))
        loads = elf.loads()
        assert any(one.flags & PF_X for one in loads)
        page = page_size.of_this_machine()
        data = Mapping(1 << 30, (1 << 30) + -(-elf.size // page) * page, 0, elf.path, "r--p")
        rows = [*_loaded(loads, 1 << 40, True, page), data]
        assert [image.bias for image in images(rows, loads, page)] == [1 << 40]
        assert images([data], loads, page) == []


def test_a_library_that_somebody_reads_stays_where_it_is() -> None:
    before = {(module.path, module.start, module.end) for module in _modules()}
    path = next(path for path, _, _ in before if ".so" in path)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        assert {(module.path, module.start, module.end) for module in _modules()} == before
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ):
        assert {(module.path, module.start, module.end) for module in _modules()} == before


def _modules() -> list[Module]:
    image = AddressSpace(os.getpid())
    image.refresh()
    return image.modules


def test_names_are_completed_behind_the_sign_that_they_are_in_no_scope() -> None:
    image = AddressSpace(os.getpid())
    image.refresh()
    names = image.continuations("PyObject_Call")
    assert "PyObject_CallObject" in names
    assert image.continuations("::PyObject_Call") == {f"::{name}" for name in names}
