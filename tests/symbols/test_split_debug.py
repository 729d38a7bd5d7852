"""Stripped libraries whose names are in another file, or in a small compressed table."""

from __future__ import annotations

import lzma
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dualdbg.errors import SymbolError
from dualdbg.symbols.elf.elf_file import ElfFile
from dualdbg.symbols.elf.split_debug import find_debug_file
from dualdbg.symbols.objfile import Objfile
from tests.symbols.conftest import run

pytestmark = pytest.mark.usefixtures("binutils")


@pytest.fixture
def stripped(build: Callable[..., Path], tmp_path: Path) -> tuple[Path, Path]:
    """(a library without .symtab, the file with what was taken out of it)"""
    whole, library, debug = build("shapes.cpp", "-g"), tmp_path / "lib" / "own.so", tmp_path / "own.so.debug"
    library.parent.mkdir()
    run("objcopy", "--only-keep-debug", whole, debug)
    run("strip", "-o", library, whole)
    return library, debug


def test_by_the_debug_link_beside_the_library(stripped: tuple[Path, Path]) -> None:
    library, debug = stripped
    run("objcopy", f"--add-gnu-debuglink={debug}", library)
    assert find_debug_file(ElfFile.open(library)) is None
    beside = library.parent / ".debug" / debug.name
    beside.parent.mkdir()
    shutil.copy(debug, beside)
    opened = Objfile.open(library)
    assert opened.debug_file == beside
    (symbol,) = opened.find_functions("local_c")
    assert symbol.binding == "local"
    found = opened.symbol_at(symbol.address + 1)
    assert found is not None and found.name == "local_c"


def test_parts_that_are_empty_there(stripped: tuple[Path, Path]) -> None:
    """What was left in the library is said to lie behind the end of the file of debug info, with no bytes."""
    library, debug = stripped
    assert ElfFile.open(library).needed
    assert ElfFile.open(debug).needed == []


def test_by_the_build_id(stripped: tuple[Path, Path], tmp_path: Path) -> None:
    library, debug = stripped
    elf = ElfFile.open(library)
    assert elf.build_id is not None
    place = tmp_path / "root" / ".build-id" / elf.build_id[:2] / f"{elf.build_id[2:]}.debug"
    place.parent.mkdir(parents=True)
    shutil.copy(debug, place)
    assert find_debug_file(elf, [tmp_path / "root"]) == place


def test_a_file_that_belongs_to_another_library_is_not_taken(
    stripped: tuple[Path, Path], build: Callable[..., Path]
) -> None:
    library, debug = stripped
    run("objcopy", f"--add-gnu-debuglink={debug}", library)
    run("objcopy", "--only-keep-debug", build("clones.cpp", "-O2", "-g"), library.parent / debug.name)
    assert Objfile.open(library).debug_file is None
    (library.parent / debug.name).write_text("this is no ELF file")
    assert find_debug_file(ElfFile.open(library)) is None


def test_a_file_without_build_id_is_known_by_its_checksum(build: Callable[..., Path], tmp_path: Path) -> None:
    whole, library, debug = (
        build("shapes.cpp", "-g", "-Wl,--build-id=none"),
        tmp_path / "own.so",
        tmp_path / "own.debug",
    )
    run("objcopy", "--only-keep-debug", whole, debug)
    run("strip", "-o", library, whole)
    run("objcopy", f"--add-gnu-debuglink={debug}", library)
    assert find_debug_file(ElfFile.open(library)) == debug
    with open(debug, "ab") as file:
        file.write(b"changed")
    assert find_debug_file(ElfFile.open(library)) is None


def test_the_compressed_table_of_local_names(stripped: tuple[Path, Path], tmp_path: Path) -> None:
    """MiniDebugInfo, as Fedora's libraries carry it."""
    library, debug = stripped
    mini, packed = tmp_path / "mini", tmp_path / "mini.xz"
    run("objcopy", "-S", "--remove-section=.comment", "--keep-symbol=local_c", debug, mini)
    packed.write_bytes(lzma.compress(mini.read_bytes()))
    run("objcopy", f"--add-section=.gnu_debugdata={packed}", library)
    opened = Objfile.open(library)
    assert [symbol.binding for symbol in opened.find_functions("local_c")] == ["local"]
    assert opened.find_functions("plain_c")  # .dynsym counts as well
    broken = library.with_name("broken.so")
    packed.write_bytes(b"\xfd7zXZ\x00 and then nothing of the kind")
    run("objcopy", f"--update-section=.gnu_debugdata={packed}", library, broken)
    with pytest.raises(SymbolError, match="gnu_debugdata"):
        Objfile.open(broken).find_functions("local_c")
