"""From an address to the function that contains it, and to the library it is in."""

from __future__ import annotations

import ctypes
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dualdbg.shared import page_size
from dualdbg.shared.images import images
from dualdbg.shared.proc_files import mappings, read_maps
from dualdbg.symbols import objfile
from dualdbg.symbols.elf.elf_file import ElfFile
from dualdbg.symbols.objfile import Objfile
from tests import rows
from tests.support import require
from tests.symbols.conftest import run, torch_library


def sized_functions(path: Path) -> list[tuple[int, int, str]]:
    """(start, size, linkage name) of nm's functions with a size."""
    lines = run("nm", "-S", "--defined-only", path).splitlines()
    rows = [line.split(" ", 3) for line in lines]
    return [(int(r[0], 16), int(r[1], 16), r[3]) for r in rows if len(r) == 4 and r[2] in "tTwWi"]


@pytest.mark.usefixtures("binutils")
@pytest.mark.parametrize(
    "flags", rows.some([["-O2"], ["-Wl,--no-eh-frame-hdr"], ["-Wl,-z,noseparate-code"], []], 2)
)
def test_every_byte_of_every_function_is_its_own(build: Callable[..., Path], flags: list[str]) -> None:
    library = Objfile.open(build("shapes.cpp", *flags))
    functions = sized_functions(Path(library.path))
    names: dict[int, set[str]] = {}
    for start, _, name in functions:
        names.setdefault(start, set()).add(name)
    assert len(functions) > 40
    for start, size, _ in functions:
        for address, symbol in library.symbols_at(range(start, start + size)).items():
            assert symbol is not None and symbol.linkage_name in names[start], (hex(address), symbol)
            assert symbol.address == start


def test_who_asks_often_is_given_the_same(shapes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is put in order then."""
    often, seldom = (Objfile(ElfFile.open(str(shapes))) for _ in range(2))
    addresses = [address for start in seldom.frames.starts for address in range(start, start + 9)]
    one_by_one = [seldom.symbol_at(address) for address in addresses[:900]]
    assert len(set(one_by_one)) > 20
    monkeypatch.setattr(objfile, "_MANY", 0)
    assert [often.symbol_at(address) for address in addresses[:900]] == one_by_one


@pytest.mark.parametrize("many", [0, 1000])
def test_marks_of_code_and_data_are_no_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    """Each file for AArch64 has them where code begins, behind it, and around constants in it. Functions of assembler
    may have no size, or no frame information."""
    names = ["first_function", "second_function", "third_function"]
    functions = (
        f'"$x.{n}": .type {name}, %function\n{name}: .cfi_startproc\nnop\nret\n.cfi_endproc\n"$d.{n}": .quad 0\n'
        for n, name in enumerate(names)
    )
    bare = '.type bare, %function\nbare: nop\n"$d": .quad 0\n"$x": nop\nnop\nret\n.size bare, . - bare\n'
    source, library = tmp_path / "marks.s", tmp_path / "marks.so"
    source.write_text(".text\n" + "".join(functions) + bare)
    run(require(shutil.which("gcc"), "gcc"), "-shared", "-nostdlib", source, "-o", library)
    monkeypatch.setattr(objfile, "_MANY", many)
    found = Objfile.open(library)
    starts = found.frames.starts
    assert [symbol and symbol.name for symbol in map(found.symbol_at, starts)] == names
    (last,) = found.find_functions("bare")
    inside = {found.symbol_at(at) for at in range(last.address, last.address + last.size)}
    assert {symbol and symbol.name for symbol in inside} == {"bare"}


@pytest.mark.usefixtures("binutils")
def test_places_outside_of_functions_have_no_name(shapes: Path) -> None:
    library = Objfile.open(shapes)
    plt = library.elf.section(".plt")
    assert plt is not None
    for address in (0, 1, plt.address + 3, 1 << 40):
        assert library.symbol_at(address) is None, hex(address)


@pytest.mark.usefixtures("binutils")
def test_a_stripped_library_claims_only_what_it_knows(shapes: Path, tmp_path: Path) -> None:
    """A local function has lost its name; its neighbour's must not be given to it."""
    stripped = tmp_path / "stripped.so"
    run("strip", "-o", stripped, shapes)
    library = Objfile.open(stripped)
    exported = set(run("nm", "-D", "--defined-only", stripped).split())
    local = 0
    for start, size, name in sized_functions(shapes):
        symbol = library.symbol_at(start + size - 1)
        if name in exported:
            assert symbol is not None and symbol.address == start, name
        elif symbol is not None:
            assert symbol.address == start and {symbol.linkage_name, *symbol.aliases} & exported, (
                name,
                symbol,
            )
        else:
            local += 1
    assert local >= 3


def test_names_for_people(shapes: Path) -> None:
    library = Objfile.open(shapes)
    short = {s.name: s.short_name for s in library.find_functions("**")}
    assert short["outer::inner::deep(int)"] == "outer::inner::deep"
    assert short["long outer::Box<int>::convert<long>(int)"] == "outer::Box::convert"
    assert short["outer::(anonymous namespace)::hidden(int)"] == "outer::(anonymous namespace)::hidden"
    assert short["outer::returns_pointer(int)"] == "outer::returns_pointer"
    assert short["outer::Shape::operator()(int) const"] == "outer::Shape::operator()"
    lambdas = {
        s.short_name for s in library.find_functions("outer::with_lambda::{lambda(int)#1}::operator()")
    }
    assert lambdas == {"outer::with_lambda::{lambda#1}::operator()"}


@pytest.mark.parametrize("flags", [(), ("-Wl,-Ttext-segment=0x40000000",), ("-Wl,-z,max-page-size=0x10000",)])
def test_the_load_bias_from_the_map(build: Callable[..., Path], flags: tuple[str, ...]) -> None:
    """In our own process, against the addresses that the dynamic loader gives; prelinked libraries too."""
    shapes = build("shapes.cpp", *flags)
    handle = ctypes.CDLL(str(shapes))
    loaded = ctypes.cast(handle.plain_c, ctypes.c_void_p).value
    assert loaded is not None
    library = Objfile.open(shapes)
    (symbol,) = library.find_functions("plain_c")
    assert _bias(os.getpid(), library) + symbol.address == loaded


def test_a_program_that_is_not_position_independent_has_no_bias(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(
        '#include <stdio.h>\nint main(void) { puts("ready"); fflush(stdout); return getchar(); }\n'
    )
    program = tmp_path / "program"
    run("gcc", "-no-pie", source, "-o", program)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        assert _bias(process.pid, Objfile.open(program)) == 0
        process.communicate("\n")


def _bias(pid: int, library: Objfile) -> int:
    rows = [row for row in mappings(read_maps(pid)) if row.path == library.elf.path]
    assert len(rows) >= 3
    (image,) = images(rows, library.elf.loads(), page_size.of_this_machine())
    return image.bias


def test_python_names_its_own_functions() -> None:
    """The interpreter's functions by address, in whichever file they are."""
    address = ctypes.cast(ctypes.pythonapi.PyObject_GetAttr, ctypes.c_void_p).value
    assert address is not None
    (row,) = [row for row in mappings(read_maps(os.getpid())) if row.start <= address < row.end]
    library = Objfile.open(row.path)
    symbol = library.symbol_at(address - _bias(os.getpid(), library) + 1)
    assert symbol is not None and symbol.name == "PyObject_GetAttr"


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.usefixtures("binutils")
def test_libtorch_names_any_address_as_nm_does() -> None:
    path = torch_library("libtorch_cpu.so")
    library = Objfile.open(path)
    functions = sized_functions(path)
    starts: dict[int, set[str]] = {}
    for start, _, name in functions:
        starts.setdefault(start, set()).add(name)
    assert len(functions) > 300_000
    sample = random.Random(20240502).sample([f for f in functions if f[1] > 0], 4000)
    places = {start + random.Random(start).randrange(size): start for start, size, _ in sample}
    named = library.symbols_at(places)
    for address, start in places.items():
        symbol = named[address]
        assert symbol is not None and symbol.linkage_name in starts[symbol.address], hex(address)
        assert symbol.address == start or re.match("mkl_|mkldnn_|dnnl", symbol.name), (hex(address), symbol)
