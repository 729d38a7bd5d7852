"""ELF files as readelf sees them, and files that are none, or were cut off or garbled."""

from __future__ import annotations

import os
import random
import re
import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dualdbg.errors import SymbolError
from dualdbg.shared.elf import SHT_RELA
from dualdbg.symbols.elf.elf_file import ElfFile
from dualdbg.symbols.elf.symbol_versions import defined_versions, needed_versions
from dualdbg.symbols.gdb_feed.unwind_file import unwind_file
from dualdbg.symbols.objfile import Objfile
from tests.symbols.conftest import run


@pytest.mark.usefixtures("binutils")
def test_facts_are_those_of_readelf(build: Callable[..., Path]) -> None:
    path = build("shapes.cpp", "-g", "-Wl,-soname,libshapes.so.3", "-Wl,-rpath,$ORIGIN/libs:/opt/x")
    elf = ElfFile.open(path)
    dynamic, notes = run("readelf", "-dW", path), run("readelf", "-nW", path)
    assert elf.needed == re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) != []
    assert elf.soname == "libshapes.so.3"
    assert elf.runpath + elf.rpath == ["$ORIGIN/libs", "/opt/x"]
    assert elf.build_id == re.search(r"Build ID: (\w+)", notes)[1]
    assert elf.has_debug_info and elf.has_symtab
    assert elf.debuglink is None
    rows = re.findall(
        r"^ +\[ *(\d+)\] (\S+) +\S+ +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+) ", run("readelf", "-SW", path), re.M
    )
    assert len(rows) > 25
    for index, name, address, offset, size in rows:
        section = elf.sections[int(index)]
        assert (section.name, section.address, section.offset, section.size) == (
            name,
            *(int(text, 16) for text in (address, offset, size)),
        )
    assert len(elf.loads()) == len(re.findall("^ +LOAD ", run("readelf", "-lW", path), re.M))


@pytest.mark.usefixtures("binutils")
def test_relocations_are_those_of_readelf(shapes: Path) -> None:
    elf = ElfFile.open(shapes)
    sections = [section for section in elf.sections if section.type == SHT_RELA]
    ours = [
        (place, symbol << 32 | kind)
        for section in sections
        for place, kind, symbol, _ in elf.relocations(section)
    ]
    rows = re.findall(r"^([0-9a-f]{16})  ([0-9a-f]{16}) R_", run("readelf", "-rW", shapes), re.M)
    assert ours == [(int(place, 16), int(info, 16)) for place, info in rows] != []
    assert list(elf.relocations(None)) == []
    without_symbol = [row for row in elf.relocations(sections[0]) if row[2] == 0]
    assert without_symbol and all(elf.offset_of(addend) is not None for *_, addend in without_symbol)
    with pytest.raises(SymbolError, match=r"garbled: \.rela"):
        list(elf.relocations(replace(sections[0], size=sections[0].size - 1)))


def test_the_program_that_runs_us_is_read() -> None:
    elf = ElfFile.open(os.path.realpath(sys.executable))
    assert elf.interpreter is not None and "ld-" in elf.interpreter


def test_versions_of_the_c_library() -> None:
    path = _mapped("libc.so")
    assert {"GLIBC_2.17", "GLIBC_2.28"} <= defined_versions(ElfFile.open(path))
    needs = needed_versions(ElfFile.open(path))
    assert any(name.startswith("ld-linux") for name in needs), needs


def test_the_vdso_is_read_from_memory() -> None:
    """It is mapped in every process and has no file."""
    row = next(line.split() for line in Path("/proc/self/maps").read_text().splitlines() if "[vdso]" in line)
    start, end = (int(text, 16) for text in row[0].split("-"))
    with open("/proc/self/mem", "rb", 0) as memory:
        memory.seek(start)
        library = Objfile(ElfFile.from_bytes(memory.read(end - start), "[vdso]"))
    names = {s.name for s in library.find_functions("*clock_gettime*")}
    assert names & {"__vdso_clock_gettime", "__kernel_clock_gettime"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"#!/bin/sh\n", "not an ELF file"),
        (b"\x7fELF", "not an ELF file"),
        (b"\x7fELF\x01\x01\x01".ljust(64, b"\0"), "32-bit"),
        (b"\x7fELF\x02\x02\x01".ljust(64, b"\0"), "big-endian"),
        (
            b"\x7fELF\x02\x01\x01".ljust(18, b"\0") + struct.pack("<H", 243).ljust(46, b"\0"),
            "another kind of machine",
        ),
    ],
)
def test_what_is_no_elf_file_for_us(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "file.so"
    path.write_bytes(content)
    with pytest.raises(SymbolError, match=said):
        ElfFile.open(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SymbolError, match="No such file") as caught:
        Objfile.open(tmp_path / "absent.so")
    assert caught.value.hint
    with pytest.raises(SymbolError, match="directory"):
        Objfile.open(tmp_path)


def test_a_file_cut_off_anywhere_is_said_to_be(shapes: Path, tmp_path: Path) -> None:
    whole = shapes.read_bytes()
    generator = random.Random(20240501)
    for size in sorted(generator.sample(range(1, len(whole)), 150)):
        path = tmp_path / f"cut-{size}.so"
        path.write_bytes(whole[:size])
        with pytest.raises(SymbolError):
            Objfile.open(path)


def test_garbled_bytes_end_in_a_symbol_error_or_in_an_answer(shapes: Path) -> None:
    """Never in another exception, nor in a search without an end."""
    whole = shapes.read_bytes()
    elf = ElfFile.open(shapes)
    table, headers = elf.section(".symtab"), struct.unpack_from("<Q", whole, 40)[0]
    assert table is not None
    generator = random.Random(7)
    spans = [(0, 0x400), (headers, len(whole)), (table.offset, table.end), (0, len(whole))]
    for name in (".eh_frame_hdr", ".eh_frame", ".dynamic", ".gnu.version_r", ".note.gnu.build-id"):
        section = elf.section(name)
        assert section is not None, name
        spans += [(section.offset, section.end), (section.offset, section.offset + 24)]
    told = 0
    for _ in range(30):
        for start, end in spans:
            data = bytearray(whole)
            for _ in range(generator.choice((1, 4, 40))):
                data[generator.randrange(start, end)] = generator.choice((0, 0xFF, generator.randrange(256)))
            told += _exercise(bytes(data))
    assert told > 30


def _exercise(data: bytes) -> bool:
    """Everything that reads the file; True when it was found to be garbled."""
    try:
        library = Objfile(ElfFile.from_bytes(data, "garbled.so"))
        elf = library.elf
        _ = (
            elf.build_id,
            elf.needed,
            elf.soname,
            elf.runpath,
            elf.interpreter,
            elf.debuglink,
            library.debug_file,
        )
        defined_versions(elf)
        needed_versions(elf)
        for section in elf.sections:
            if section.type == SHT_RELA:
                list(elf.relocations(section))
        library.find_functions("deep")
        library.find_functions("plain*")
        for symbol in library.find_functions("outer::**"):
            library.symbol_at(symbol.address + 1)
        _ = library.frames.starts
        [library.frames.find(vaddr) for vaddr in (0x2000, 0x2300)]
        unwind_file(library)
    except SymbolError as error:
        assert error.message
        return True
    return False


def test_a_file_overwritten_in_place_is_noticed(shapes: Path, tmp_path: Path) -> None:
    path = tmp_path / "mutable.so"
    path.write_bytes(shapes.read_bytes())
    library = Objfile.open(path)
    assert library.find_functions("plain_c")
    with open(path, "r+b") as file:
        file.truncate(100)
    with pytest.raises(SymbolError, match="overwritten"):
        library.find_functions("plain_c")
    with pytest.raises(SymbolError, match="overwritten"):
        library.symbol_at(0x2219)
    with pytest.raises(SymbolError, match="cut off"):
        Objfile.open(path)


def test_a_replaced_file_is_read_anew(shapes: Path, build: Callable[..., Path], tmp_path: Path) -> None:
    path = tmp_path / "replaced.so"
    path.write_bytes(shapes.read_bytes())
    old = Objfile.open(path)
    assert Objfile.open(path) is old
    path.unlink()
    path.write_bytes(build("clones.cpp", "-O2").read_bytes())
    new = Objfile.open(path)
    assert new.find_functions("slow_path") and not new.find_functions("plain_c")
    assert old.find_functions("plain_c")


def test_offsets_beyond_four_gigabytes(shapes: Path, tmp_path: Path) -> None:
    """A sparse file whose symbols and section headers lie far out, as in libraries with much debug info."""
    far = (1 << 32) + (1 << 20)
    data = bytearray(shapes.read_bytes())
    elf = ElfFile.open(shapes)
    (headers,) = struct.unpack_from("<Q", data, 40)
    moved = [section for section in elf.sections if section.name in (".symtab", ".strtab", ".shstrtab")]
    assert len(moved) == 3
    for section in moved:
        struct.pack_into("<Q", data, headers + 64 * section.index + 24, section.offset + far)
    struct.pack_into("<Q", data, 40, headers + far)
    path = tmp_path / "huge.so"
    with open(path, "wb") as file:
        file.write(data)
        file.seek(far)
        file.write(data)
    library = Objfile.open(path)
    assert library.size > far
    (symbol,) = library.find_functions("outer::inner::deep(int)")
    assert symbol.address == Objfile.open(shapes).find_functions("outer::inner::deep(int)")[0].address
    found = library.symbol_at(symbol.address + 1)
    assert found is not None and found.name == symbol.name


def _mapped(part: str) -> str:
    lines = Path("/proc/self/maps").read_text().splitlines()
    return next(line.split()[5] for line in lines if part in line)
