"""The copy of a compressed debug file: all sections have the contents that the binutils unpack, and gdb takes it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dualdbg.symbols.elf.elf_file import ElfFile
from dualdbg.symbols.gdb_feed import unpacked_debug_info
from dualdbg.symbols.gdb_feed.unpacked_debug_info import debug_folder, unpacked
from dualdbg.symbols.objfile import Objfile
from tests.support import require
from tests.symbols.conftest import run

pytestmark = pytest.mark.usefixtures("binutils")


@pytest.fixture
def debug_file(build: Callable[..., Path], tmp_path: Path) -> Path:
    """What a distribution installs: the debug info alone, compressed."""
    found = tmp_path / "own.debug"
    run("objcopy", "--only-keep-debug", "--compress-debug-sections=zlib", build("shapes.cpp", "-g"), found)
    return found


def _sections(file: Path) -> dict[str, bytes]:
    elf = ElfFile.open(file)
    return {one.name: elf.contents(one) for one in elf.sections if one.name != ".shstrtab"}


def test_the_contents_are_those_that_the_binutils_unpack(debug_file: Path, tmp_path: Path) -> None:
    pieces = unpacked(ElfFile.open(debug_file))
    assert pieces is not None
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.write_bytes(b"".join(pieces))
    run("objcopy", "--decompress-debug-sections", debug_file, theirs)
    assert _sections(ours) == _sections(theirs)
    assert ElfFile.open(ours).build_id == ElfFile.open(debug_file).build_id
    assert ElfFile.open(ours).segments == ElfFile.open(debug_file).segments
    assert run("readelf", "--debug-dump=decodedline", ours) == run(
        "readelf", "--debug-dump=decodedline", theirs
    ).replace(str(theirs), str(ours))


def test_what_has_no_copy(debug_file: Path, tmp_path: Path) -> None:
    plain, damaged, linked = (tmp_path / name for name in ("plain", "damaged", "linked"))
    run("objcopy", "--decompress-debug-sections", debug_file, plain)
    assert unpacked(ElfFile.open(plain)) is None

    section = ElfFile.open(debug_file).section(".debug_info")
    assert section is not None
    content = bytearray(debug_file.read_bytes())
    content[section.offset + 40] ^= 0xFF
    damaged.write_bytes(content)
    assert unpacked(ElfFile.open(damaged)) is None

    run("objcopy", "--add-section", f".gnu_debugaltlink={__file__}", debug_file, linked)
    assert unpacked(ElfFile.open(linked)) is None


def test_gdb_reads_the_c_library_from_the_copy(own_cache: Path) -> None:
    """It is given no other folder, and answers as it does with the usual one."""
    gdb = require(shutil.which("gdb"), "gdb")
    folder = debug_folder()
    if folder is None:
        pytest.skip("the debug info of the C library is not installed, or is not compressed")
    (copy,) = folder.rglob("*.debug")
    assert copy.is_relative_to(own_cache)
    library = unpacked_debug_info.c_library()
    assert library is not None

    def answer(*settings: str) -> str:
        words = [gdb, "-nx", "-q", "-batch", *settings, library.path]
        words += ["-ex", "info line malloc", "-ex", "ptype struct tm", "-ex", "info scope free"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    assert "Line " in answer() and "tm_year" in answer()
    assert answer("-iex", f"set debug-file-directory {folder}") == answer()
    time = copy.stat().st_mtime_ns
    assert debug_folder() == folder
    assert copy.stat().st_mtime_ns > time, "it counts as just used"


def test_the_copies_that_were_used_last_are_kept(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = unpacked_debug_info.c_library()
    if library is None or library.debug_file is None or unpacked(ElfFile.open(library.debug_file)) is None:
        pytest.skip("the debug info of the C library is not installed, or is not compressed")
    monkeypatch.setattr(unpacked_debug_info, "MOST_KEPT", 2)
    monkeypatch.setattr(unpacked_debug_info, "unpacked", lambda _elf: [b"copy"])
    made = []
    for number in range(3):
        monkeypatch.setattr(Objfile, "build_id", f"ab{number}")
        folder = debug_folder()
        assert folder is not None
        made.append(folder / ".build-id" / "ab" / f"{number}.debug")
    assert [path.exists() for path in made] == [False, True, True]


def test_no_copy_where_the_cache_does_not_outlive_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked_debug_info.cache, "is_kept", lambda: False)
    assert debug_folder() is None
