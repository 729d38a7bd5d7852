"""What a name may be completed to, against the names of all functions of real libraries, and the time it takes."""

from __future__ import annotations

import ctypes
import importlib.util
import random
import re
from pathlib import Path

import pytest

from dualdbg.symbols.names import cxx_names
from dualdbg.symbols.names.demangle import demangle_all
from dualdbg.symbols.names.name_beginnings import Known, continuations
from dualdbg.symbols.objfile import Objfile

SEED = 20
_IDENTIFIER = re.compile(r"~?[A-Za-z_]\w*", re.ASCII)
_LOCAL = re.compile(r"_ZZ|_ZGV|_ZT|_ZGR")


def system_library(name: str) -> Path:
    ctypes.CDLL(name)
    for line in Path("/proc/self/maps").read_text().splitlines():
        if Path(line.split()[-1]).resolve().name.startswith(name.removesuffix(".6")):
            return Path(line.split()[-1])
    raise AssertionError(f"{name} was loaded, and is not mapped")


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


def check(library: Objfile, count: int) -> None:
    """Of functions drawn by a seed each beginning leads to the next scope, and to the whole name at the end."""
    paths = paths_of(library)
    known: list[Known] = [{} for _ in library.tables]
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
            if wanted not in offered:
                missing.append((paths[path], typed, wanted))
    assert not missing


def test_functions_of_the_c_library() -> None:
    check(Objfile.open(system_library("libc.so.6")), 300)


def test_functions_of_the_cxx_library() -> None:
    check(Objfile.open(system_library("libstdc++.so.6")), 300)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["libc10.so", "libtorch_python.so"])
def test_functions_of_pytorch(name: str) -> None:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    check(Objfile.open(Path(spec.origin).parent / "lib" / name), 300)


def test_what_is_offered_as_a_function_is_one() -> None:
    library = Objfile.open(system_library("libstdc++.so.6"))
    offered = {
        name
        for scope in ("std::", "std::vector::", "std::locale::", "__gnu_cxx::", "__cxxa")
        for name in library.continuations(scope)
    }
    functions = [name for name in offered if not name.endswith("::")]
    assert len(functions) > 50
    assert [name for name in functions if not library.find_functions(f"::{name}")] == []
