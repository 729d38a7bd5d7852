"""What the strings of debug info tell before gdb reads it: that a file has no lines of a source."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dualdbg.symbols.elf.debug_names import may_have_lines_of
from dualdbg.symbols.objfile import Objfile
from tests import rows
from tests.symbols.conftest import run

SOURCES = ("shapes.cpp", "/any/where/shapes.cpp", "basic_string.h")
OTHERS = ("hapes.c", "shapes.cp", "clones.cpp")


@pytest.mark.parametrize("version", rows.some(["-gdwarf-5", "-gdwarf-4", "-gdwarf-3", "-gdwarf-2"], 2))
def test_the_sources_that_a_library_has_lines_of(build: Callable[..., Path], version: str) -> None:
    library = Objfile.open(build("shapes.cpp", "-g", version))
    assert [may_have_lines_of(library.with_debug_info, one) for one in SOURCES] == [True] * len(SOURCES)
    assert [may_have_lines_of(library.with_debug_info, one) for one in OTHERS] == [False] * len(OTHERS)


def test_of_what_cannot_be_searched_it_is_not_known(build: Callable[..., Path]) -> None:
    for flags in (["-gz"], ["-gsplit-dwarf"]):
        library = Objfile.open(build("shapes.cpp", "-g", *flags))
        assert may_have_lines_of(library.with_debug_info, "clones.cpp")


def test_without_debug_info_there_are_none(build: Callable[..., Path]) -> None:
    assert not may_have_lines_of(Objfile.open(build("shapes.cpp")).with_debug_info, "shapes.cpp")


def test_a_split_debug_file_is_looked_at(build: Callable[..., Path], binutils: None, tmp_path: Path) -> None:
    path = tmp_path / "shapes.so"
    shutil.copy(build("shapes.cpp", "-g"), path)
    run("objcopy", "--only-keep-debug", path, tmp_path / "shapes.so.debug")
    run("objcopy", "--strip-debug", f"--add-gnu-debuglink={tmp_path / 'shapes.so.debug'}", path)
    library = Objfile.open(path)
    assert not library.has_debug_info and library.with_debug_info.path == str(tmp_path / "shapes.so.debug")
    assert may_have_lines_of(library.with_debug_info, "shapes.cpp")
    assert not may_have_lines_of(library.with_debug_info, "clones.cpp")
