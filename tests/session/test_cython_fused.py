"""Functions of Cython that have several C functions: of fused types, of cpdef, of parallel loops. Names and steps."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import pytest

from dualdbg.symbols.objfile import Objfile
from tests.cli.driver import dualdbg
from tests.support import require

SOURCE = """\
# cython: language_level=3
cimport cython
from cython.parallel cimport prange

ctypedef fused number:
    int
    double

def twice(number x):
    cdef number y = x + x
    return y

cpdef number thrice(number x):
    return x * 3

cpdef object descend(object call, int depth):
    if depth:
        return descend(call, depth - 1)
    return call()

cdef class Box:
    cdef public int size
    def grow(self, number by):
        self.size += <int>by
        return self.size

def both(number x, cython.floating y):
    return x + y

cdef int kept[64]

def total(int n):
    cdef int i, s = 0
    for i in prange(n, nogil=True, num_threads=3, schedule="static"):
        kept[i & 63] = i
        s += i * 2
    return s
"""
# As often as each is called. What chooses between the types for a call of Python is none of the author's functions.
CALLS = {"twice": 3, "thrice": 2, "Box.grow": 4, "both": 2, "total": 1}
PROGRAM = """\
import fused
box = fused.Box()
print(fused.twice(3), fused.twice(2.5), fused.twice(0), fused.thrice(3), fused.thrice(2.5))
print([box.grow(by) for by in (1, 2.0, 3, 4.0)], fused.both(1, 2.0), fused.both(1.5, 2.0))
print(fused.total(30))
"""


# What is optimised and has debug info is between the others.
OPTIONS = ["-O0 -g", pytest.param("-O2 -g", marks=pytest.mark.exhaustive), "-O2"]


@pytest.fixture(scope="module", params=OPTIONS, ids=["O0", "O2", "bare"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the module, and a program that calls it."""
    require(importlib.util.find_spec("Cython"), "Cython is not installed")
    compiler = require(shutil.which("gcc"), "a C compiler")
    made = tmp_path_factory.mktemp("fused")
    (made / "fused.pyx").write_text(SOURCE)
    (made / "program.py").write_text(PROGRAM)
    subprocess.run([sys.executable, "-m", "cython", "fused.pyx"], cwd=made, check=True)
    include = f"-I{sysconfig.get_paths()['include']}"
    output = f"fused{sysconfig.get_config_var('EXT_SUFFIX')}"
    options = [*request.param.split(), "-fopenmp", "-fPIC", "-shared", "-w"]
    subprocess.run([compiler, *options, include, "fused.c", "-o", output], cwd=made, check=True)
    if "-g" in options:
        (made / "has_debug_info").touch()
    return made


def test_each_call_stops_once_in_the_function_that_was_named(folder: Path) -> None:
    """Of all of them in one run; ``twice`` is named without its module."""
    places = [word for name in CALLS for word in ("-b", name if name == "twice" else f"fused.{name}")]
    commands = ["-x", "continue"] * sum(CALLS.values())
    done = dualdbg("run", "--batch", "--json", *places, *commands, "program.py", cwd=folder)
    assert done.status == 0, done
    stops = Counter(stop["frame"]["function"] for stop in done.of("stopped"))
    assert stops == {f"fused.{name}": count for name, count in CALLS.items()}
    assert done.of("exited")[0]["code"] == 0


def test_steps_from_python_enter_the_called_variant_and_skip_its_wrapper(folder: Path) -> None:
    (folder / "steps.py").write_text(
        "import fused\ndef callback():\n    return 5\nbox = fused.Box()\nfused.twice(2.5)\nbox.grow(2)\n"
        "fused.thrice(3)\nfused.descend(callback, 2)\nfused.descend(int, 0)\n"
    )
    places = [word for line in (3, 5, 6, 7, 9) for word in ("-b", f"steps.py:{line}")]
    commands = [*["step", "continue"] * 3, "bt", "continue", "step", "finish"]
    words = [word for command in commands for word in ("-x", command)]
    done = dualdbg("run", "--batch", "--json", *places, *words, "steps.py", cwd=folder)
    stops = [stop["frame"] for stop in done.of("stopped")]
    assert [frame["line"] for frame in stops[:6:2]] == [5, 6, 7]
    assert [frame["line"] for frame in stops[6:8]] == [3, 9]  # the callback, and the call without one
    assert [frame["function"] for frame in stops[1:6:2]] == ["fused.twice", "fused.Box.grow", "fused.thrice"]
    (stack,) = done.of("stack")
    native = [frame for frame in stack["frames"] if frame["kind"] == "native" and frame["role"] == "user"]
    assert {frame["function"] for frame in native} == {"fused.descend"}
    if (folder / "has_debug_info").exists():
        assert len(native) == 3
    entered, left = stops[-2:]
    assert entered["function"] == "fused.descend"
    assert (left["function"], left["line"]) == ("<module>", 9)


def test_a_module_without_a_symbol_table_says_what_to_type(folder: Path, tmp_path: Path) -> None:
    """The functions have no names there, and the objects that Python has of them still know where they begin."""
    (file,) = folder.glob("fused.*.so")
    strip = require(shutil.which("strip"), "binutils")
    subprocess.run([strip, "--strip-all", "-o", tmp_path / file.name, file], check=True)
    (tmp_path / "program.py").write_text(PROGRAM)
    done = dualdbg("run", "--batch", "--json", "-b", "fused.twice", "program.py", cwd=tmp_path)
    (hint,) = [one["hint"] for one in done.of("notice") if "never bound" in one["message"]]
    assert hint.startswith(f"{file.name} has no names of functions; dualdbg resolve fused.twice says")
    told = json.loads(
        dualdbg("resolve", "fused.twice", "--json", cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}).stdout
    )
    places = [word for entry in told["entries"] for word in ("-b", entry["spec"])]
    done = dualdbg("run", "--batch", "--json", *places, *["-x", "continue"] * 3, "program.py", cwd=tmp_path)
    assert len(places) == 4 and len(done.of("stopped")) == 3


def test_the_parallel_part_of_a_function_has_its_name(folder: Path) -> None:
    (file,) = folder.glob("fused.*.so")
    library = Objfile.open(file)
    regions = [one for one in library.find_functions("*_omp_fn*") if "total" in one.linkage_name]
    assert [(one.language, one.spoken) for one in regions] == [("cython", "fused.total [parallel region]")]
