"""A build is made once a machine: each checkout has a copy with its own paths; a changed source is compiled anew."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support import SAMPLES, require

CODE = 'extern "C" const char *where() { return __FILE__; }\n'
BUILD = """\
from cached_build import SAMPLES, compile_once
source = SAMPLES / "where.cpp"
print(compile_once("where", {"where.so": ["-shared", "-fPIC", "-g", "-Wl,--build-id", str(source)]}, [source]))
"""


@pytest.fixture
def checkouts() -> Iterator[list[Path]]:
    """Two, of different names, which are short as those of a checkout are."""
    with ExitStack() as stack:
        found = [Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=name))) for name in ("a", "bcd")]
        for one in found:
            (one / "samples").mkdir()
            shutil.copy(SAMPLES / "cached_build.py", one / "samples")
            (one / "samples" / "build.py").write_text(BUILD)
            (one / "samples" / "where.cpp").write_text(CODE)
        yield found


def test_second_checkout_compiles_nothing_and_has_its_own_paths(
    checkouts: list[Path], tmp_path: Path
) -> None:
    compiler, calls = tmp_path / "compiler", tmp_path / "calls"
    real = require(shutil.which("g++"), "a C++ compiler")
    compiler.write_text(f'#!/bin/sh\necho >> {calls}\nexec {real} "$@"\n')
    compiler.chmod(0o755)
    env = {**os.environ, "CXX": str(compiler), "DUALDBG_TEST_CACHE": str(tmp_path / "cache")}

    def built(checkout: Path) -> bytes:
        command = [sys.executable, checkout / "samples" / "build.py"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        folder = Path(done.stdout.strip())
        assert folder.is_relative_to(checkout / "build" / "samples")
        return (folder / "where.so").read_bytes()

    first, second = map(built, checkouts)
    assert calls.read_text() == "\n" and first != second and len(first) == len(second)
    for here, other, data in zip(checkouts, reversed(checkouts), (first, second), strict=True):
        assert bytes(here) in data and bytes(other) not in data and b"/dualdbg/" not in data
    ids = [line for data in (first, second) if (line := _build_id(data, tmp_path))]
    assert len(set(ids)) == 2
    (checkouts[0] / "samples" / "where.cpp").write_text(CODE + "int more;\n")
    assert built(checkouts[0]) != first and calls.read_text() == "\n\n"


def _build_id(data: bytes, folder: Path) -> str:
    (folder / "library").write_bytes(data)
    command = [require(shutil.which("readelf"), "readelf of the binutils"), "-n", folder / "library"]
    notes = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return next(line for line in notes.splitlines() if "Build ID" in line)
