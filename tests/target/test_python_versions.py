"""One table of CPython's versions: everything that has rows by version has those, and a newer one is tried."""

from __future__ import annotations

import json
import re
import struct
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dualdbg.errors import TargetError, UsageError
from dualdbg.shared import python_versions
from dualdbg.snapshot.cpython import layout as python_layout
from dualdbg.snapshot.linux.memory import Memory
from dualdbg.symbols.elf.elf_file import ElfFile
from dualdbg.target import doctor
from dualdbg.target import interpreter as interpreters
from tests.gdb_scripts.gdb_run import run_gdb
from tests.support import ROOT
from tests.target.test_interpreter import ANSWER


class Bytes(Memory):
    """A memory that begins with these bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = data

    def _load(self, page: int) -> bytes | None:
        return self._data.ljust(8192, b"\0")[page * 4096 : page * 4096 + 4096] or None


def runtime(version: tuple[int, int], size: int) -> Bytes:
    """The start of _PyRuntime: each structure has ``size`` bytes, and its members follow each other."""
    words = [version[0] << 24 | version[1] << 16, 0]
    for _, names in python_layout._GROUPS[python_versions.NEWEST]:
        words += [size if name == "size" else 8 * at for at, name in enumerate(names.split())]
    return Bytes(python_layout.COOKIE + struct.pack(f"<{len(words)}Q", *words))


NEXT = (python_versions.NEWEST[0], python_versions.NEWEST[1] + 1)


def test_a_newer_layout_is_tried() -> None:
    layout = python_layout.layout_of(runtime(NEXT, 400), 0, None)
    assert (layout.version, layout.interpreters_head, layout.frame_previous) == (NEXT, 16, 8)


@pytest.mark.parametrize("size", [0, 40, 1 << 40])
def test_a_newer_layout_that_does_not_fit_is_refused(size: int) -> None:
    with pytest.raises(TargetError, match="is newer than this dualdbg, and its frames") as raised:
        python_layout.layout_of(runtime(NEXT, size), 0, None)
    assert python_versions.RANGE in raised.value.hint


def test_every_known_version_has_a_layout() -> None:
    described = {version for version in python_versions.KNOWN if version >= (3, 13)}  # by itself
    assert set(python_layout._TABLES) | described == set(python_versions.KNOWN)


def test_the_docs_know_the_same_versions() -> None:
    assert python_versions.RANGE in (ROOT / "README.md").read_text()


def test_no_other_list_of_versions() -> None:
    """Three versions in a row are a list of all; a test that takes some of them leaves gaps."""
    rows = re.compile(r"""["']3\.(\d+)["'],\s*["']3\.(\d+)["'],\s*["']3\.(\d+)["']""")
    for folder in ("dualdbg", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            for found in rows.finditer(path.read_text()):
                first, second, third = map(int, found.groups())
                assert not first + 2 == second + 1 == third, f"{path}: {found.group()}"


@pytest.mark.parametrize(
    ("version", "says"),
    [(None, False), ("3.8.1", False), ("3.15.9", False), ("3.16.0", True), ("4.0.0", True)],
)
def test_what_is_newer_is_warned_of(version: str | None, says: bool) -> None:
    assert (python_versions.warning_of(version) is not None) == says


def answering(folder: Path, version: tuple[int, int, int]) -> str:
    """A program that answers as an interpreter of ``version`` does, and runs as ours."""
    facts = {**ANSWER, "implementation": "cpython", "version": version, "executable": sys.executable}
    path = folder / "python"
    path.write_text(f"#!/bin/sh\necho 'dualdbg:{json.dumps(facts)}'\n")
    path.chmod(0o755)
    return str(path)


def test_a_newer_interpreter_is_taken_and_the_doctor_warns(tmp_path: Path) -> None:
    facts = interpreters.inspect(answering(tmp_path, (*NEXT, 0)))
    assert facts.version == (*NEXT, 0)
    [finding] = doctor.check_interpreter(facts, lambda path: [s.name for s in ElfFile.open(path).sections])
    assert finding.status is doctor.Status.WARNING and "is newer than this dualdbg" in finding.text
    known = replace(facts, version=(*python_versions.NEWEST, 0))
    [finding] = doctor.check_interpreter(known, lambda path: [])
    assert finding.status is doctor.Status.OK


def test_an_older_interpreter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is Python 3\.7\.9") as raised:
        interpreters.inspect(answering(tmp_path, (3, 7, 9)))
    assert python_versions.RANGE in raised.value.hint


def test_the_helpers_in_gdb_try_a_newer_one(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    publishing = (ROOT / "tests/gdb_scripts/targets/publishing.py").read_text()
    program.write_text(f"{publishing}\nnumber = 1.5\npublish(it=id(number))\nstop()\n")
    newer = python_versions.text_of(NEXT)
    commands = [f"set dualdbg python-version {newer}", "dualdbg-json pyobject {it}", "dualdbg-layout"]
    outcome = run_gdb([Path(sys.executable).resolve(), program], commands, tmp_path)
    assert outcome.data(1)["text"] == "1.5"
    assert f"CPython {newer} is newer than dualdbg" in outcome.output(2)
