"""The rows of /proc/PID/maps: what is a loaded file, and what only its data."""

from __future__ import annotations

import mmap
import os

from dualdbg.symbols.address_space import AddressSpace, Module, _loaded_files

TWICE = """\
10000-11000 r--p 00000000 08:01 7 /lib/libx.so
11000-12000 r-xp 00001000 08:01 7 /lib/libx.so
12000-13000 r--p 00002000 08:01 7 /lib/libx.so
13000-14000 rw-p 00002000 08:01 7 /lib/libx.so
20000-30000 r--s 00000000 08:01 7 /lib/libx.so
40000-41000 r--p 00000000 08:01 7 /lib/libx.so
41000-42000 r-xp 00001000 08:01 7 /lib/libx.so
50000-51000 r--p 00000000 08:01 8 /data/table
60000-61000 rwxp 00000000 00:00 0
"""


def test_a_file_that_is_loaded_twice_and_read_as_data() -> None:
    first, second = _loaded_files(TWICE)
    assert [row.start for row in first[1]] == [0x10000, 0x11000, 0x12000, 0x13000]
    assert [row.start for row in second[1]] == [0x40000, 0x41000]
    assert {first[0], second[0]} == {"/lib/libx.so"}


def test_a_library_that_somebody_reads_stays_where_it_is() -> None:
    before = {(module.path, module.start, module.end) for module in _modules()}
    path = next(path for path, _, _ in before if ".so" in path)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        assert {(module.path, module.start, module.end) for module in _modules()} == before


def _modules() -> list[Module]:
    image = AddressSpace(os.getpid())
    image.refresh()
    return image.modules
