"""The rows of /proc/PID/maps: what is a loaded file, and what only its data."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dualdbg.shared.elf import PF_X, PT_LOAD, Segment
from dualdbg.shared.images import images, runs
from dualdbg.shared.proc_files import Mapping, mappings
from dualdbg.symbols.address_space import AddressSpace, Module
from dualdbg.symbols.elf.elf_file import ElfFile

_PAGE = 4096
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
    first, second = images(mappings(TWICE), LOADS)
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
    (one,) = images(rows, loads)
    assert (one.bias, one.rows) == (0x10000, tuple(rows))


@st.composite
def _segments(draw: st.DrawFn) -> list[Segment]:
    """Loadable segments as linkers lay them out: their pages are apart in memory, and may be shared in the file."""
    found, offset, address = [], 0, draw(st.sampled_from([0, 0x400000]))
    kinds = draw(st.sampled_from([(4, 5, 4, 6), (5, 6), (4, 5, 6), (5, 4, 6)]))
    for flags in kinds:
        size = draw(st.integers(1, 5 * _PAGE))
        found.append(Segment(PT_LOAD, flags, offset, address + offset % _PAGE, size, size, _PAGE))
        address += (offset % _PAGE + size + _PAGE - 1) // _PAGE * _PAGE + draw(st.integers(0, 2)) * _PAGE
        offset += size
        if draw(st.booleans()):
            offset = (offset + _PAGE - 1) // _PAGE * _PAGE
    return found


def _loaded(loads: list[Segment], bias: int, modes: bool) -> list[Mapping]:
    rows = []
    for one in loads:
        first, end = one.offset // _PAGE * _PAGE, -(-(one.offset + one.file_size) // _PAGE) * _PAGE
        start = bias + one.address // _PAGE * _PAGE
        mode = {4: "r--p", 5: "r-xp", 6: "rw-p"}[one.flags] if modes else ""
        rows.append(Mapping(start, start + end - first, first, "/x", mode))
    return rows


@given(
    _segments(),
    st.lists(st.booleans(), min_size=1, max_size=4),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_images_are_told_from_data(
    loads: list[Segment], kinds: list[bool], modes: bool, random: object
) -> None:
    """``kinds``: whether the file is loaded or mapped whole as data, one directly behind the other."""
    whole = -(-(loads[-1].offset + loads[-1].file_size + 3 * _PAGE) // _PAGE) * _PAGE
    rows: list[Mapping] = []
    biases = []
    at = 1 << 40
    for is_image in kinds:
        if is_image:
            bias = at - loads[0].address // _PAGE * _PAGE
            biases.append(bias)
            rows += _loaded(loads, bias, modes)
        else:
            rows.append(Mapping(at, at + whole, 0, "/x", "r--p" if modes else ""))
        at = rows[-1].end
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = images(shuffled, loads)
    assert [image.bias for image in found] == biases
    for image in found:
        assert list(image.rows) == _loaded(loads, image.bias, modes)


def test_the_images_of_a_real_library(build: Callable[..., Path]) -> None:
    """Its own headers say which of the rows are data, however it was linked."""
    for flags in ((), ("-Wl,-z,noseparate-code",)):
        elf = ElfFile.open(str(build("shapes.cpp", *flags)))
        loads = elf.loads()
        assert any(one.flags & PF_X for one in loads)
        data = Mapping(1 << 30, (1 << 30) + -(-elf.size // _PAGE) * _PAGE, 0, elf.path, "r--p")
        rows = [*_loaded(loads, 1 << 40, True), data]
        assert [image.bias for image in images(rows, loads)] == [1 << 40]
        assert images([data], loads) == []


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
