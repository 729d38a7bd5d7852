"""The small files by which gdb unwinds: the same stacks as with every symbol, in the real gdb."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dualdbg.symbols.elf.elf_file import ElfFile
from dualdbg.symbols.gdb_feed.unwind_file import unwind_file
from dualdbg.symbols.objfile import Objfile
from dualdbg.system.patience import patient
from tests.support import require
from tests.symbols.conftest import HERE, run, torch_library

SECONDS = patient(180.0)


class Gdb:
    """Runs gdb_stack.py for one program that stops in one function."""

    def __init__(self, folder: Path, program: str, arguments: str, library: Path, vaddr: int) -> None:
        self.folder = folder
        self.job = {"program": program, "arguments": arguments, "library": str(library), "vaddr": vaddr}

    def stack(self, files: dict[str, str] | None) -> dict[str, Any]:
        job, result = self.folder / "job.json", self.folder / "result.json"
        result.unlink(missing_ok=True)
        job.write_text(json.dumps({**self.job, "files": files, "result": str(result)}))
        done = subprocess.run(
            [require(shutil.which("gdb"), "gdb"), "-nx", "-q", "-batch", "-x", str(HERE / "gdb_stack.py")],
            env={**os.environ, "DUALDBG_TEST_JOB": str(job), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert result.exists(), done.stdout + done.stderr
        answer: dict[str, Any] = json.loads(result.read_text())
        return answer


@pytest.fixture
def deep(build: Callable[..., Path], tmp_path: Path) -> Gdb:
    library = build("deep_stack.cpp", "-O2", "-fomit-frame-pointer")
    source, program = tmp_path / "main.c", tmp_path / "main"
    source.write_text("int run_deep(void);\nint main(void) { return run_deep(); }\n")
    run("gcc", "-O2", source, "-o", program, library, f"-Wl,-rpath,{library.parent}")
    (symbol,) = Objfile.open(library).find_functions("innermost")
    return Gdb(tmp_path, str(program), "", library, symbol.address)


def files_for(libraries: list[str]) -> dict[str, str]:
    """Library -> its unwind file."""
    made = {path: unwind_file(Objfile.open(path)) for path in libraries}
    return {path: str(file) for path, file in made.items() if file is not None}


def test_the_stack_is_that_of_all_symbols(deep: Gdb) -> None:
    expected = deep.stack(None)
    assert len(expected["frames"]) >= 10
    result = deep.stack(files_for(expected["libraries"]))
    assert result["frames"] == expected["frames"]
    assert result["before"] != expected["frames"]  # gdb does need the files
    assert "warning" not in result["said"], result["said"]
    assert "(y or n)" not in result["said"], result["said"]


@pytest.mark.torch
@pytest.mark.slow
def test_the_stack_through_libtorch(tmp_path: Path) -> None:
    library = torch_library("libtorch_cpu.so")
    program = tmp_path / "program.py"
    program.write_text(f"import sys\nsys.path[:] = {sys.path!r}\nimport torch\ntorch.randn(2, 3)\n")
    kernel = next(
        s for s in Objfile.open(library).find_functions("at::native::randn") if "Generator" not in s.name
    )
    gdb = Gdb(tmp_path, os.path.realpath(sys.executable), str(program), library, kernel.address)
    expected = gdb.stack(None)
    names = {Path(path).name for path, _ in expected["frames"] if path}
    assert {"libtorch_cpu.so", "libtorch_python.so"} <= names
    files = files_for(expected["libraries"])
    assert gdb.stack(files)["frames"] == expected["frames"]


def test_a_file_is_made_once(shapes: Path, own_cache: Path) -> None:
    library = Objfile.open(shapes)
    first = unwind_file(library)
    assert first is not None and first.parent == own_cache
    made = first.stat().st_ino
    assert unwind_file(library) == first and first.stat().st_ino == made
    first.write_bytes(b"cut off")
    again = unwind_file(library)
    assert again == first and ElfFile.open(again).section(".eh_frame")
    assert [path.name for path in own_cache.iterdir()] == [first.name]


def test_libraries_with_one_build_id_and_another_layout_have_their_own(build: Callable[..., Path]) -> None:
    """patchelf, which repairs wheels, moves sections and keeps the build-id."""
    same = "-Wl,--build-id=0x1234"
    one = Objfile.open(build("shapes.cpp", same))
    other = Objfile.open(build("shapes.cpp", same, "-O2"))
    assert one.build_id == other.build_id
    assert unwind_file(one) != unwind_file(other)


def test_a_library_without_a_frame_table_has_no_file(build: Callable[..., Path], tmp_path: Path) -> None:
    bare = tmp_path / "bare.so"
    run(
        "objcopy",
        "--remove-section=.eh_frame",
        "--remove-section=.eh_frame_hdr",
        build("clones.cpp", "-O2"),
        bare,
    )
    assert unwind_file(Objfile.open(bare)) is None
