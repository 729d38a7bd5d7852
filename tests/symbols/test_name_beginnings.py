"""What a name may be completed to, against the names of all functions of real libraries, and the time it takes."""

from __future__ import annotations

import importlib.util
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.symbols.name_preparation import prepare
from dualdbg.symbols.names import cxx_names
from dualdbg.symbols.names.demangle import demangle_all
from dualdbg.symbols.names.name_beginnings import Known, continuations
from dualdbg.symbols.names.name_index import NameIndex
from dualdbg.symbols.objfile import Objfile
from tests.support import ROOT, require
from tests.symbols.conftest import system_library

SEED = 20
_IDENTIFIER = re.compile(r"~?[A-Za-z_]\w*", re.ASCII)
_LOCAL = re.compile(r"_ZZ|_ZGV|_ZT|_ZGR")


def paths_of(library: Objfile) -> dict[tuple[str, ...], str]:
    """The functions of a library whose names a user can type, with the mangled name of one of each."""
    found: dict[tuple[str, ...], str] = {}
    for table in library.tables:
        names = [table.name(entry).partition(b"@")[0] for entry in table.functions()]
        names = [name for name in names if b"." not in name and not _LOCAL.match(name.decode())]
        for name, text in zip(names, demangle_all(names), strict=True):
            parsed = cxx_names.parse(text)
            path = tuple(one for one in parsed.bases if one not in cxx_names.TRANSPARENT)
            if not parsed.special and path and all(map(_IDENTIFIER.fullmatch, path)):
                found[path] = name.decode()
    return found


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without any index."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "dualdbg"


def check(library: Objfile, count: int) -> None:
    """Of functions drawn by a seed each beginning leads to the next scope, and to the whole name at the end.

    By a search, and by an index.
    """
    paths = paths_of(library)
    known: list[Known] = [{} for _ in library.tables]
    index = NameIndex(library.identity, library.tables)
    index.keep(library.tables)
    assert index.is_there()
    draw = random.Random(SEED)
    missing = []
    for path in draw.sample(sorted(paths), min(count, len(paths))):
        for depth, part in enumerate(path):
            if depth == 0 and len(part) < 3:
                continue
            typed = "::".join((*path[:depth], part[: draw.randint(3 if depth == 0 else 0, len(part))]))
            offered = {
                name
                for table, scopes in zip(library.tables, known, strict=True)
                for name in continuations(table, typed, scopes)
            }
            wanted = "::".join(path[: depth + 1]) + ("::" if depth + 1 < len(path) else "")
            if wanted not in offered or wanted not in index.continuations(typed):
                missing.append((paths[path], typed, wanted))
    assert not missing


@pytest.mark.usefixtures("cache")
def test_functions_of_the_c_library() -> None:
    check(Objfile.open(system_library("libc.so.6")), 300)


@pytest.mark.usefixtures("cache")
def test_functions_of_the_cxx_library() -> None:
    check(Objfile.open(system_library("libstdc++.so.6")), 300)


@pytest.mark.torch
@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", ["libc10.so", "libtorch_python.so"])
def test_functions_of_pytorch(name: str) -> None:
    spec = require(importlib.util.find_spec("torch"), "PyTorch")
    assert spec.origin is not None
    check(Objfile.open(Path(spec.origin).parent / "lib" / name), 300)


@pytest.mark.usefixtures("cache")
def test_a_longer_beginning_is_answered_as_if_it_were_the_first() -> None:
    (table,) = Objfile.open(system_library("libc.so.6")).tables[:1]
    known: Known = {}
    for beginning in ("pth", "pthread_", "pthread_mutex_l", "pthr", "str", "strnc", "pthread_cond_"):
        found = continuations(table, beginning, known)
        assert found == continuations(table, beginning, {}) and found
    assert len(known) == 2


@pytest.mark.parametrize("indexed", [False, True])
def test_what_is_offered_as_a_function_is_one(indexed: bool) -> None:
    library = Objfile(Objfile.open(system_library("libstdc++.so.6")).elf)
    if indexed:
        library.keep_name_index()
    offered = {
        name
        for scope in ("std::", "std::vector::", "std::locale::", "__gnu_cxx::", "__cxxa")
        for name in library.continuations(scope)
    }
    functions = [name for name in offered if not name.endswith("::")]
    assert len(functions) > 50
    assert [name for name in functions if not library.find_functions(f"::{name}")] == []


@pytest.fixture
def libc_is_big(monkeypatch: pytest.MonkeyPatch) -> None:
    """With or without the names of its debug file; libm is not."""
    monkeypatch.setattr("dualdbg.symbols.objfile._INDEXED_TABLE", 50_000)


@pytest.mark.usefixtures("libc_is_big")
def test_an_index_that_was_cut_short_is_none(cache: Path) -> None:
    library = Objfile(Objfile.open(system_library("libc.so.6")).elf)
    assert library.lacks_name_index()
    library.keep_name_index()
    assert not library.lacks_name_index()
    found = library.continuations("getsi")
    assert "getsid" in found
    [file] = cache.glob("scopes*")
    file.write_bytes(file.read_bytes()[:-100])
    again = Objfile(library.elf)
    assert again.lacks_name_index() and "getsid" in again.continuations("getsi")


def test_indexes_are_made_by_another_process_and_once(cache: Path) -> None:
    libraries = [Objfile(Objfile.open(system_library(name)).elf) for name in ("libc.so.6", "libm.so.6")]
    require(libraries[0].is_big or None, "the C library has no debug file (libc6-dbg)", outside=True)
    prepare(libraries)
    [file] = cache.glob("scopes*")  # what is small needs none
    made = file.stat().st_mtime_ns, file.stat().st_ino
    prepare(libraries)
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == made
    assert "getsid" in libraries[0].continuations("getsi")


def test_nothing_is_made_where_the_cache_is_not_kept() -> None:
    code = f"""
from dualdbg.symbols.cache import cache_directory, is_kept
from dualdbg.symbols.name_preparation import prepare
from dualdbg.symbols.objfile import Objfile
prepare([Objfile.open({str(system_library("libc.so.6"))!r})])
print(is_kept(), list(cache_directory().glob("scopes*")))
"""
    env = {**os.environ, "XDG_CACHE_HOME": "/proc/1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("False []\n", "")
