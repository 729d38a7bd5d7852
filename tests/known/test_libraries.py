"""Whose a library and whose a Python file is, by the places and names that distributions use."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from dualdbg.known.python_files import is_of_a_library, is_package, is_standard_library
from dualdbg.shared import libraries
from dualdbg.symbols.elf.elf_file import ElfFile
from tests import support

KINDS = ("system", "interpreter", "pytorch")
MULTIARCH = "/usr/lib/x86_64-linux-gnu"
ROWS = {
    # path: which of the kinds it is; none of them is the user's own
    f"{MULTIARCH}/libc.so.6": {"system"},
    "/lib/x86_64-linux-gnu/libpthread-2.31.so": {"system"},
    "/usr/lib64/libstdc++.so.6.0.30": {"system"},
    f"{MULTIARCH}/libpython3.11.so.1.0": {"system", "interpreter"},
    "/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so": {"interpreter"},
    "/opt/python/lib/python3.13t/lib-dynload/_json.cpython-313t-x86_64-linux-gnu.so": {"interpreter"},
    "/opt/python/bin/python3.13t": {"interpreter"},
    "/usr/bin/python3-dbg": {"interpreter"},
    "/usr/bin/python3.12-debug": {"interpreter"},
    "/Library/Frameworks/Python.framework/Versions/3.14/bin/python3.14-intel64": {"interpreter"},
    # of a program that runs since before an upgrade
    "/usr/bin/python3.11 (deleted)": {"interpreter"},
    "/opt/python/lib/libpython3.11.so.1.0 (deleted)": {"interpreter"},
    "/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so (deleted)": {"pytorch"},
    # another implementation, and what only begins like it
    "/opt/pypy/bin/pypy3.10": set(),
    "/opt/pypy/bin/libpypy3.10-c.so": set(),
    "/opt/graalpy/lib/libpythonvm.so": set(),
    "/home/me/pythonlib.so": set(),
    "/usr/lib/python3/dist-packages/mine.cpython-311-x86_64-linux-gnu.so": set(),
    "/usr/lib64/python3.12/site-packages/mine.so": set(),
    "/opt/conda/lib/libmine.so": set(),
    "/usr/local/lib/libmine.so": set(),
    "/home/me/python_bindings.so": set(),
    # PyTorch, as its wheels, a build in its tree and Debian have it
    "/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so": {"pytorch"},
    "/venv/lib/python3.11/site-packages/torch/lib/libshm.so": {"pytorch"},
    "/venv/lib/python3.11/site-packages/torch/_C.cpython-311-x86_64-linux-gnu.so": {"pytorch"},
    "/src/pytorch/build/lib/libc10_cuda.so": {"pytorch"},
    f"{MULTIARCH}/libtorch_cpu.so.2.6": {"pytorch"},
    # what is built upon it is the user's
    "/venv/lib/python3.11/site-packages/torchaudio/lib/libtorchaudio.so": set(),
    "/venv/lib/python3.11/site-packages/torchvision/_C.so": set(),
    "/venv/lib/python3.11/site-packages/mine/_C.cpython-311-x86_64-linux-gnu.so": set(),
    "/home/me/torch/lib/libmine.so": set(),
}


@pytest.mark.parametrize("path", ROWS)
def test_whose_a_library_is(path: str) -> None:
    assert {kind for kind in KINDS if getattr(libraries, f"is_{kind}")(path)} == ROWS[path]
    assert libraries.is_foreign(path) == (not ROWS[path])
    in_module = "/lib-dynload/" in path
    assert libraries.holds_interpreter(path) == ("interpreter" in ROWS[path] and not in_module)


@pytest.mark.parametrize(
    "path",
    [
        f"{MULTIARCH}/libc.so.6",
        "/lib/x86_64-linux-gnu/libc-2.31.so",
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/x86_64-linux-gnu/ld-2.31.so",
        "/lib/ld-musl-x86_64.so.1",
        "/nix/store/0123-glibc-2.38/lib/libc.so.6",
        "[vdso]",
    ],
)
def test_the_c_library_wherever_it_lies(path: str) -> None:
    assert libraries.is_c_library(path) and libraries.is_cxx_runtime(path) and libraries.is_runtime(path)


@pytest.mark.parametrize("name", ["libstdc++.so.6.0.30", "libc++.so.1.0", "libc++abi.so.1.0"])
def test_the_cxx_library_of_each_compiler(name: str) -> None:
    path = f"/opt/llvm/lib/{name}"
    assert libraries.is_cxx_library(path) and libraries.is_cxx_runtime(path) and libraries.is_runtime(path)
    assert not libraries.is_c_library(path)


def test_what_the_cython_modules_of_a_package_share() -> None:
    folder = "/venv/lib/python3.11/site-packages/pandas/_libs/"
    assert libraries.is_cython_runtime(folder + "_cyutility.cpython-311-x86_64-linux-gnu.so")
    assert not libraries.is_cython_runtime(folder + "algos.cpython-311-x86_64-linux-gnu.so")
    assert not libraries.is_cython_runtime(None)


def test_what_is_no_c_library() -> None:
    for path in (None, "/usr/lib/libcurl.so.4", "/usr/lib/libcrypt.so.1", "/venv/torch/lib/libc10.so"):
        assert not libraries.is_c_library(path), path


@pytest.mark.torch
def test_every_library_of_the_installed_pytorch() -> None:
    """What PyTorch's build makes links to libc10 or is linked to by its module: no name was forgotten."""
    folder = Path(sysconfig.get_path("purelib")) / "torch"
    found = {path.name: ElfFile.open(path) for path in (folder / "lib").glob("*.so")}
    support.require(found or None, "PyTorch")
    own = {name for name, elf in found.items() if "libc10.so" in elf.needed or "libtorch.so" in elf.needed}
    assert {"libtorch_cpu.so", "libtorch_python.so"} <= own
    extensions = {
        "libaoti_custom_ops.so",
        "libjitbackend_test.so",
        "libbackend_with_compiler.so",
        "libtorchbind_test.so",
    }
    assert {name for name in own if not libraries.is_pytorch(str(folder / "lib" / name))} <= extensions


ROWS_OF_FILES = {
    "<frozen importlib._bootstrap>": "standard library",
    "/usr/lib/python3.11/json/decoder.py": "standard library",
    "/opt/python/lib/python3.13t/threading.py": "standard library",
    "/usr/lib64/python3.12/asyncio/base_events.py": "standard library",
    "/usr/lib/python3/dist-packages/numpy/__init__.py": "package",
    "/venv/lib/python3.13t/site-packages/torch/_ops.py": "package",
    "/home/me/python3.11/train.py": "user",
    "/home/me/train.py": "user",
}


@pytest.mark.parametrize("file", ROWS_OF_FILES)
def test_whose_a_python_file_is(file: str) -> None:
    assert is_standard_library(file) == (ROWS_OF_FILES[file] == "standard library")
    assert is_package(file) == (ROWS_OF_FILES[file] == "package")
    assert is_of_a_library(file) == (ROWS_OF_FILES[file] != "user")


def test_the_running_interpreter() -> None:
    assert is_standard_library(sysconfig.get_path("stdlib") + "/os.py")
    assert libraries.is_interpreter(str(Path(sys.executable).resolve()))
