"""The code of modules is kept between starts: it is the same, changes are seen, and no file keeps a start from it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dualdbg

SECONDS = 60.0
# Imports what it is told to as a command does, and says of each module what the import system knows of it.
CHILD = """
import importlib, inspect, json, sys
from dualdbg.cli.kept_modules import KeptModules
kept = KeptModules("run")
kept.begin()
import dualdbg.symbols.cache
told = {}
try:
    for name in sys.argv[1:]:
        module = importlib.import_module(name)
        told[name] = {
            "loader": type(module.__loader__).__name__,
            "file": module.__file__,
            "cached": module.__cached__,
            "path": list(getattr(module, "__path__", ())),
            "source": inspect.getsource(module),
            "names": sorted(vars(module)),
        }
finally:
    kept.end()
print(json.dumps(told))
"""
PACKAGE, MODULE = "dualdbg.known", "dualdbg.known.namespaces"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a dualdbg of its own, whose files may be changed."""
    ignored = shutil.ignore_patterns("__pycache__", "tui", "dap", "mcp", "session", "vscode*")
    source = Path(dualdbg.__file__).parent
    shutil.copytree(source, tmp_path / "copy" / "dualdbg", ignore=ignored)
    return tmp_path / "copy"


def imported(folder: Path, cache: Path, *names: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *(names or (PACKAGE, MODULE))],
        env={**os.environ, "PYTHONPATH": str(folder), "XDG_CACHE_HOME": str(cache)},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_the_second_time_they_are_what_they_were(copy: Path, tmp_path: Path) -> None:
    first, second = (imported(copy, tmp_path) for _ in range(2))
    loaders = [{one.pop("loader") for one in told.values()} for told in (first, second)]
    assert loaders == [{"_KeepingLoader"}, {"_KeptLoader"}]
    assert first == second
    assert second[PACKAGE]["path"] == [str(copy / "dualdbg" / "known")]
    assert second[MODULE]["file"] == str(copy / "dualdbg" / "known" / "namespaces.py")


def test_what_is_new_is_kept_beside_the_rest(copy: Path, tmp_path: Path) -> None:
    imported(copy, tmp_path)
    assert imported(copy, tmp_path, "dualdbg.known.file_endings").popitem()[1]["loader"] == "_KeepingLoader"
    for name in (MODULE, "dualdbg.known.file_endings"):
        assert imported(copy, tmp_path, name)[name]["loader"] == "_KeptLoader"


@pytest.mark.parametrize("is_later", [True, False], ids=["later", "longer"])
def test_a_changed_source_is_seen(copy: Path, tmp_path: Path, is_later: bool) -> None:
    source = copy / "dualdbg" / "known" / "namespaces.py"
    source.write_text("FIRST = 1\n")
    assert "FIRST" in imported(copy, tmp_path)[MODULE]["names"]
    time = source.stat().st_mtime_ns
    source.write_text("OTHER = 1\n" if is_later else "OTHERS = 1\n")
    time += 10**9 if is_later else 0
    os.utime(source, ns=(time, time))
    told = imported(copy, tmp_path)[MODULE]
    assert told["loader"] == "_KeepingLoader"
    assert "FIRST" not in told["names"] and "OTHER" in " ".join(told["names"])


def test_a_module_that_is_gone_is_not_found(copy: Path, tmp_path: Path) -> None:
    imported(copy, tmp_path)
    (copy / "dualdbg" / "known" / "namespaces.py").unlink()
    with pytest.raises(AssertionError, match="ModuleNotFoundError"):
        imported(copy, tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"no code", b"i\x01\x00\x00\x00"], ids=["empty", "garbled", "number"]
)
def test_a_damaged_file_is_as_none(copy: Path, tmp_path: Path, content: bytes) -> None:
    imported(copy, tmp_path)
    (kept,) = (tmp_path / "dualdbg").glob("modules-run-*")
    kept.write_bytes(content)
    assert imported(copy, tmp_path)[MODULE]["loader"] == "_KeepingLoader"
    assert imported(copy, tmp_path)[MODULE]["loader"] == "_KeptLoader"


def test_two_installations_have_files_of_their_own(copy: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(copy, other)
    for _ in range(2):
        for folder in (copy, other):
            told = imported(folder, tmp_path)
            assert told[MODULE]["file"] == str(folder / "dualdbg" / "known" / "namespaces.py")
    assert {one["loader"] for one in told.values()} == {"_KeptLoader"}
    assert len([*(tmp_path / "dualdbg").glob("modules-run-*")]) == 2
