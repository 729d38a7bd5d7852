"""The copies of libraries with functions and lines alone: in the real gdb all code is where it is in the library."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dualdbg.symbols import cache
from dualdbg.symbols.gdb_feed import lines_file as module
from dualdbg.symbols.gdb_feed.lines_file import as_in_library, is_plain, lines_file
from dualdbg.symbols.gdb_feed.units import UnknownForm, units
from dualdbg.symbols.objfile import Objfile
from dualdbg.system.gdb_versions import finds_same_code_without_types
from dualdbg.system.patience import patient
from samples.native.build import build
from tests.support import require
from tests.symbols.conftest import HERE, run

SECONDS = patient(180.0)
CODE = """\
namespace geo {
struct Shape { virtual int area() const; int side; };
static inline int twice(int value) { return value * 2; }
namespace { int hidden(int value) { return twice(value) + 1; } }
int Shape::area() const { return hidden(side); }
}
extern "C" int measure(geo::Shape *shape) {
    auto more = [](int value) { return geo::twice(value); };
    return more(shape->area());
}
"""


def _described(folder: Path, library: Path, copy: Path) -> list[Any]:
    """What gdb says of the code of the library, and of that of the copy."""
    job, result = folder / "job.json", folder / "result.json"
    job.write_text(json.dumps({"files": [str(library), str(copy)], "result": str(result)}))
    done = subprocess.run(
        [require(shutil.which("gdb"), "gdb"), "-nx", "-q", "-batch", "-x", str(HERE / "gdb_code.py")],
        env={**os.environ, "DUALDBG_TEST_JOB": str(job), "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert result.exists(), done.stdout + done.stderr
    answers: list[Any] = json.loads(result.read_text())
    return answers


@pytest.mark.parametrize("optimize", ["2", "0"])
def test_all_code_is_where_it_is_in_the_extension(optimize: str, tmp_path: Path) -> None:
    (library,) = build(optimize=optimize).glob("sample_pybind*.so")
    objfile = Objfile.open(library)
    copy = lines_file(objfile)
    assert copy is not None and lines_file(objfile) == copy
    version = subprocess.run(
        ["gdb", "-batch", "-ex", "python print(gdb.VERSION)"], capture_output=True, text=True
    )
    if not finds_same_code_without_types(version.stdout.rpartition(" ")[2]):
        pytest.skip("this gdb gets no such copies")
    whole, lines = _described(tmp_path, library, copy)
    assert len(whole) > 10_000
    for (place, functions), (other_place, other_functions) in zip(whole, lines, strict=True):
        assert place == other_place
        assert [one[1:] for one in functions] == [one[1:] for one in other_functions]
        for (name, *_), (other, *_) in zip(functions, other_functions, strict=True):
            assert is_plain(copy) or _bare(name) == _bare(as_in_library(other))
    assert is_plain(copy) == (optimize == "0")


def _bare(name: str) -> str:
    """Without parameters and arguments of templates: gdb has the types of them in the library alone."""
    bare, depth = "", 0
    for letter in name.replace("operator()", "call").replace("(anonymous namespace)", "nameless"):
        depth += (letter in "<(") - (letter in ">)")
        bare += letter if depth == 0 and letter not in ">)" else ""
    return bare.removesuffix(" const")


def _compiled(folder: Path, *options: str) -> Objfile:
    source, library = folder / "code.cpp", folder / "code.so"
    source.write_text(CODE)
    run(require(shutil.which("g++"), "g++"), "-shared", "-fPIC", "-g", *options, source, "-o", library)
    return Objfile.open(library)


def test_names_have_their_scopes(tmp_path: Path) -> None:
    library = _compiled(tmp_path, "-O1", "-fno-inline", "-gdwarf-4")
    copy = lines_file(library)
    assert copy is not None and not is_plain(copy)
    whole, lines = _described(tmp_path, tmp_path / "code.so", copy)
    scopes = [
        {name.partition("(int")[0].partition("()")[0] for _, one in rows for name, *_ in one}
        for rows in (whole, lines)
    ]
    assert {"geo::Shape::area", "geo::twice", "geo::(anonymous namespace)::hidden"} <= scopes[0] & scopes[1]


@pytest.mark.parametrize(
    "options", [("-gz",), ("-fdebug-types-section",), ("-gsplit-dwarf",), ("-flto",), ("-g0",)]
)
def test_debug_info_of_another_form_is_left_as_it_is(options: tuple[str, ...], tmp_path: Path) -> None:
    assert lines_file(_compiled(tmp_path, *options)) is None


def test_abbreviations_that_are_cut_off_make_no_copy() -> None:
    table = b"\x01\x11\x01\x25\x0e\x00\x00\x02\x24\x00\x0b\x0b\x00\x00\x00"
    assert module._without_types(table, True) == table.replace(b"\x02\x24", b"\x02\x1b")
    for size in range(1, len(table) - 1):
        if size != 7:  # there the table may end too
            assert module._without_types(table[:size], True) is None, size


@pytest.mark.parametrize("options", [("-gdwarf-4",), ("-gdwarf-5",), ("-gdwarf-5", "-O0")])
def test_code_that_was_not_optimised_has_no_scopes(options: tuple[str, ...], tmp_path: Path) -> None:
    library = _compiled(tmp_path, *options)
    copy = lines_file(library)
    assert copy is not None and is_plain(copy)
    whole, lines = _described(tmp_path, tmp_path / "code.so", copy)
    for described in zip(whole, lines, strict=True):
        (place, functions), (other_place, other_functions) = described
        assert place == other_place
        assert [one[1:] for one in functions] == [one[1:] for one in other_functions]
    assert {name for _, one in lines for name, *_ in one} >= {"area", "twice", "hidden", "measure"}


def test_units_that_are_cut_off_have_no_language(tmp_path: Path) -> None:
    elf = _compiled(tmp_path, "-O0").elf
    info, table = (
        bytes(elf.view(require(elf.section(name), name))) for name in (".debug_info", ".debug_abbrev")
    )
    (unit,) = units(info, table, lambda offset: str(offset))
    assert info[unit.at] == unit.language and unit.producer.isdigit()
    for size in range(1, unit.at + 1):
        with pytest.raises((UnknownForm, IndexError, ValueError)):
            list(units(info[:size], table, str))
    for size in range(1, 12):
        with pytest.raises((UnknownForm, IndexError)):
            list(units(info, table[:size], str))


def test_a_copy_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = _compiled(tmp_path)
    made = lines_file(library)
    monkeypatch.setattr(cache, "store", lambda name, chunks: pytest.fail("it was made again"))
    assert made is not None and lines_file(library) == made
