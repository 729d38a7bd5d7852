"""A library with every kind of name, compiled once, and what the binutils say of libraries."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import require

HERE = Path(__file__).parent


def run(*command: str | Path) -> str:
    done = subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tests leave the user's cache alone."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "dualdbg"


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``build(source, *flags)``: the shared library of a C++ file beside this one."""
    compiler = require(shutil.which(os.environ.get("CXX", "g++")), "a C++ compiler")
    folder = tmp_path_factory.mktemp("built")

    def build(source: str, *flags: str) -> Path:
        name = hashlib.blake2b(repr(flags).encode(), digest_size=4).hexdigest()
        target = folder / f"{Path(source).stem}-{name}.so"
        if not target.exists():
            run(compiler, "-std=c++17", "-O1", "-fPIC", "-shared", *flags, HERE / source, "-o", target)
        return target

    return build


@pytest.fixture(scope="session")
def shapes(build: Callable[..., Path]) -> Path:
    return build("shapes.cpp")


@pytest.fixture(scope="session")
def binutils() -> None:
    for program in ("nm", "objcopy", "readelf", "strip"):
        require(shutil.which(program), f"{program} of the binutils")


def functions_of_nm(path: Path, *table: str) -> dict[str, set[int]]:
    """Demangled name -> addresses of the defined functions, .cold parts left out, as ``nm -C`` has them.

    ``table`` is ``-D`` for what a stripped library exports.
    """
    found: dict[str, set[int]] = defaultdict(set)
    raw, demangled = (
        run("nm", "-p", "--defined-only", *table, *option, path).splitlines() for option in ([], ["-C"])
    )
    for line, text in zip(raw, demangled, strict=True):
        address, kind, name = text.split(" ", 2)
        if kind in "tTwWi" and ".cold" not in line:
            found[name.partition("@")[0]].add(int(address, 16))
    return dict(found)


def torch_library(name: str) -> Path:
    """A library of the installed PyTorch, which is not imported."""
    import importlib.util

    spec = importlib.util.find_spec("torch")
    require(spec, "PyTorch")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "lib" / name


def system_library(name: str) -> Path:
    """Where the loader finds a library of the system. It is loaded."""
    ctypes.CDLL(name)
    for line in Path("/proc/self/maps").read_text().splitlines():
        if Path(line.split()[-1]).resolve().name.startswith(name.removesuffix(".6")):
            return Path(line.split()[-1])
    raise AssertionError(f"{name} was loaded, and is not mapped")
