"""File and line of native frames, inlined calls included: as gdb has them, in every form of debug info."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dualdbg.symbols import source_lines
from dualdbg.symbols.names.cxx_names import parse
from dualdbg.symbols.objfile import Objfile
from dualdbg.symbols.source_lines import SourceLines
from dualdbg.system.patience import patient
from tests.snapshot.programs_running import PROGRAMS, core_of, running
from tests.snapshot.test_command import dualdbg
from tests.support import require

Row = tuple[str | None, str | None, int | None, bool]


def compiled(folder: Path, *options: str) -> Path:
    library = folder / "liblines.so"
    compiler = require(shutil.which("g++"), "a C++ compiler")
    command = [compiler, "-g", "-O2", "-shared", "-fPIC", *options, PROGRAMS / "lines.cpp", "-o", library]
    subprocess.run(command, check=True)
    return library


def split(folder: Path) -> Path:
    """The debug info in a file of its own, which .gnu_debuglink names."""
    library, tool = compiled(folder), require(shutil.which("objcopy"), "objcopy (binutils)")
    debug = folder / "liblines.so.debug"
    subprocess.run([tool, "--only-keep-debug", library, debug], check=True)
    subprocess.run([tool, "--strip-debug", f"--add-gnu-debuglink={debug}", library], check=True)
    return library


FORMS: dict[str, Callable[[Path], Path]] = {
    "dwarf 5": lambda folder: compiled(folder, "-gdwarf-5"),
    "dwarf 4": lambda folder: compiled(folder, "-gdwarf-4"),
    "compressed": lambda folder: compiled(folder, "-gz"),
    "optimised whole": lambda folder: compiled(folder, "-flto"),
    "split": split,
}


@pytest.mark.parametrize("form", FORMS)
def test_lines_are_those_of_gdb(form: str, tmp_path: Path) -> None:
    library = FORMS[form](tmp_path)
    with running("in_lines.py", str(library)) as pid:
        found = rows(report("stacks", str(pid)), library)
        assert [(last_name(name), *rest) for name, *rest in found] == gdb_rows(pid, library)
        if form == "dwarf 5":
            assert rows(report("core", str(core_of(pid, tmp_path))), library) == found
            shown = dualdbg("stacks", str(pid)).stdout
            assert "lines::step" in shown and "lines.h:12" in shown
    header, source = str(PROGRAMS / "lines.h"), str(PROGRAMS / "lines.cpp")
    assert found[:3] == [
        ("lines::innermost", header, found[0][2], True),  # the line of the call, or of the function: -flto
        ("lines::step", header, 12, True),
        ("lines::Walker::walk", source, 8, False),
    ]
    assert [row[1:] for row in found[3:]] == [(source, 16, False), (source, 18, False)]


def report(*words: str) -> dict[str, Any]:
    done = dualdbg(*words, "--json")
    assert done.returncode == 0, done.stderr
    (process,) = map(json.loads, done.stdout.splitlines())
    return dict(process)


def rows(process: dict[str, Any], library: Path) -> list[Row]:
    (thread,) = process["threads"]
    return [
        (frame["function"], frame["file"], frame["line"], frame["inlined"])
        for frame in thread["frames"]
        if frame["library"] == str(library)
    ]


def last_name(name: str | None) -> str:
    """The name without its scopes, which gdb leaves out of the name of a lambda."""
    return parse(name or "").short.rpartition("::")[2]


def gdb_rows(pid: int, library: Path) -> list[tuple[Any, ...]]:
    """What a gdb that is attached says."""
    gdb = require(shutil.which("gdb"), "gdb")
    script = PROGRAMS / "gdb_lines.py"
    command = [gdb, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-p", str(pid), "-x", str(script)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patient(300)
    )
    (line,) = (row for row in done.stdout.splitlines() if row.startswith("lines: "))
    return [
        (last_name(name), file, number, inlined)
        for name, file, number, inlined, where in json.loads(line[7:])
        if where == str(library)
    ]


def test_what_takes_too_long_is_not_read(tmp_path: Path) -> None:
    library = Objfile.open(compiled(tmp_path))
    (symbol,) = library.find_functions("outermost")
    slow = SourceLines(deadline=0.0)
    (why,) = slow.look_up({library: {symbol.address + 4}})
    assert "liblines.so were not read: that takes longer than 0 s" in why
    assert slow.at(library, symbol.address + 4) == ()
    (why,) = SourceLines(gdb="no-such-gdb").look_up({library: {symbol.address + 4}})
    assert "there is no gdb (no-such-gdb)" in why


def test_a_gdb_that_crashes_leaves_no_core(tmp_path: Path) -> None:
    gdb = require(shutil.which("gdb"), "gdb")
    shows = "python import resource; print('limit', *resource.getrlimit(resource.RLIMIT_CORE))"
    command = [*source_lines._command(gdb), "-ex", shows]
    done = subprocess.run(command, input="[]\n", capture_output=True, text=True, timeout=patient(300))
    assert "limit 0 0\n" in done.stdout, done.stdout + done.stderr


def test_the_interpreter_is_not_read() -> None:
    (libc,) = (Path(path) for path in maps() if path.rsplit("/", 1)[-1].startswith("libc."))
    assert not SourceLines.are_read(Objfile.open(libc), str(libc))


def maps() -> set[str]:
    text = Path("/proc/self/maps").read_text()
    return {line.split(None, 5)[5] for line in text.splitlines() if len(line.split(None, 5)) == 6}


LAMBDA = """\
struct Table { long (*entry)(long); };
volatile long seen;
template <typename F> struct Slot {
    template <typename G> inline __attribute__((always_inline)) void fill(Table &table, G) {
        table.entry = [](long x) -> long { F f; seen = x; return f(x) + 1; };
    }
};
struct Twice { long operator()(long x) const { return x * 2; } };
extern "C" void set_up(Table *table) {
    seen = 1;
    Slot<Twice>().fill(*table, Twice{});
    seen = 2;
}
extern "C" long run(Table *table) { return table->entry(4) + 1; }
"""


def test_a_function_that_is_declared_in_one_that_was_inlined_has_not_been_called_by_it(
    tmp_path: Path,
) -> None:
    """gdb has its block within those of the functions around its declaration."""
    source, library = tmp_path / "declared.cpp", tmp_path / "libdeclared.so"
    source.write_text(LAMBDA)
    compiler = require(shutil.which("g++"), "a C++ compiler")
    subprocess.run([compiler, "-g", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    there = Objfile.open(library)
    (symbol,) = there.find_functions("_FUN")
    lines = SourceLines()
    assert lines.look_up({there: {symbol.address + 8}}) == []
    assert (lines.at(there, symbol.address + 8)[-1].function or "").endswith("_FUN")
