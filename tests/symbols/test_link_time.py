"""Where calls of the interpreter's functions may be inlined, that is said of a breakpoint on one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dualdbg.cli.commands.resolve import as_text
from dualdbg.shared.string_table import StringTable
from dualdbg.symbols.callables.native_entries import find_entries
from dualdbg.symbols.link_time import inlined_calls
from dualdbg.symbols.objfile import Objfile
from tests.cli.driver import dualdbg
from tests.support import require

from .conftest import run

SOURCE = """\
static int helper(int x) __asm__("helper%s");
static __attribute__((noinline)) int helper(int x) { return x * 3; }
int PyOS_FSPath(int x) { return helper(x) + 1; }
"""


def library(folder: Path, name: str, suffix: str = "", *flags: str) -> Objfile:
    source = folder / "source.c"
    source.write_text(SOURCE % suffix)
    run("gcc", "-O2", "-shared", "-fPIC", *flags, source, "-o", folder / name)
    return Objfile.open(folder / name)


@pytest.mark.parametrize(
    ("name", "suffix", "flags", "said"),
    [
        ("libpython3.11.so.1.0", "", [], None),
        ("libpython3.11.so.1.0", ".lto_priv.0", [], "it was optimised at link time"),
        ("python3.12", ".llvm.8017239", [], "it was optimised at link time"),
        ("libpython3.11.so.1.0", "", ["-s"], "it is stripped"),
        ("libmine.so", ".lto_priv.0", ["-s"], None),
        ("lib-dynload/_x.so", "", ["-s"], None),
    ],
)
def test_what_a_file_shows(
    tmp_path: Path, name: str, suffix: str, flags: list[str], said: str | None
) -> None:
    (tmp_path / "lib-dynload").mkdir()
    note = inlined_calls(library(tmp_path, name, suffix, *flags))
    assert note is None if said is None else note is not None and said in note


def test_the_names_are_looked_through_once_for_all_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[bytes] = []
    holding = StringTable.holding

    def counted(strings: StringTable, needle: bytes) -> Iterator[tuple[int, bytes]]:
        searched.append(needle)
        return holding(strings, needle)

    monkeypatch.setattr(StringTable, "holding", counted)
    file = library(tmp_path, "libpython3.11.so.1.0")
    for _ in range(3):
        inlined_calls(file)
    assert len(searched) == len(set(searched)) > 0


@pytest.fixture
def stripped() -> Path:
    """An interpreter without a symbol table, such as Debian's."""
    found = shutil.which("python3", path="/usr/bin")
    bare = found is not None and not any(
        table.is_full for table in Objfile.open(Path(found).resolve()).tables
    )
    return Path(require(found if bare else None, "the system's Python is stripped", outside=True))


def test_it_is_said_of_a_breakpoint_and_by_resolve(stripped: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("x = 1\n")
    words = ("-b", "program.py:1", "-b", "PyOS_FSPath", "-b", "strcasecmp", "-x", "info breakpoints")
    done = dualdbg("run", "--python", stripped, *words, "-x", "continue", "--batch", program)
    told = done.stdout.partition("\n1   ")[2]
    before, _, behind = told.partition("strcasecmp: ")
    note = "calls of it within the interpreter may be inlined, and do not stop: it is stripped"
    assert f"      {note}" in before and note not in behind, done
    [answer] = find_entries(stripped, ["len"])
    assert note in as_text(answer)
