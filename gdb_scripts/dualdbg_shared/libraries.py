"""Whose a mapped file is, by its path: the system's, the C or C++ library's, the interpreter's or PyTorch's. Pure.

A path may be one of /proc/PID/maps, where a file that was deleted since then has a mark behind its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .proc_files import without_mark

# Where distributions put libraries of 64-bit programs (Filesystem Hierarchy Standard 3.0, Debian's multiarch).
_SYSTEM_FOLDERS = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/libexec/")
# Parts of these folders that do not belong to the system: packages of Python, and the interpreter's modules.
_PYTHON_FOLDER = re.compile(r"/python3[^/]*/|-packages/")

# ld-linux, ld-musl; ld-2.31.so: its name up to glibc 2.33.
_LOADER = ("ld-", "ld.")
# libc-2.31.so, libpthread-2.31.so: their names up to glibc 2.33; libc.musl: Alpine's.
_C_LIBRARY = ("libc.so", "libc-", "libc.musl", "libpthread", *_LOADER, "[vdso]")
_CXX_LIBRARY = ("libstdc++", "libc++.", "libc++abi")  # GCC's, and LLVM's two
# GCC's run-time libraries of sanitizers, and LLVM's.
_SANITIZERS = ("libasan.", "liblsan.", "libtsan.", "libubsan.", "libhwasan.", "libclang_rt.")
_COMPILERS = (*_CXX_LIBRARY, "libgcc_s", *_SANITIZERS)

# Debian calls an interpreter for debugging python3-dbg, Fedora python3-debug; python3-intel64 is a macOS program.
_INTERPRETER = re.compile(r"libpython3[\w.]*\.so[\w.]*|python3?[\d.]*t?d?(?:-dbg|-debug|-intel64)?")

# PyTorch's libraries, by how their names begin; TORCH is how all of them begin but c10.
TORCH, C10 = "libtorch", "libc10"
TORCH_CPU, TORCH_CUDA, TORCH_XPU = "libtorch_cpu", "libtorch_cuda", "libtorch_xpu"
TORCH_PYTHON = "libtorch_python"
# The libraries that PyTorch's own build makes. Extensions have names like these (libtorchaudio.so, torchvision/_C.so).
_PYTORCH = re.compile(r"(?:libtorch|libc10|libcaffe2)(?:_\w+)?\.so[\d.]*$|libshm\.so")
_PYTORCH_MODULE = re.compile(r"/torch/_C\w*\.[^/]*so$")


def is_system_source(file: str) -> bool:
    """Whether a source file is one of the C++ library or of another one that is installed."""
    return file.startswith("/usr/") or "/include/c++/" in file


def _name(path: str | None) -> str:
    return without_mark(path or "").rpartition("/")[2]


def is_system(path: str) -> bool:
    """True for libraries of the distribution: not for the packages of Python that live there, nor for PyTorch."""
    return path.startswith(_SYSTEM_FOLDERS) and not (_PYTHON_FOLDER.search(path) or is_pytorch(path))


def is_loader(path: str) -> bool:
    """True for the dynamic loader, ld.so(8)."""
    return _name(path).startswith(_LOADER)


def is_c_library(path: str | None) -> bool:
    """True for the C library, the loader and the kernel's vDSO, wherever they lie: Nix brings its own."""
    return _name(path).startswith(_C_LIBRARY)


def is_cxx_library(path: str | None) -> bool:
    """True for the C++ library, which throws and catches exceptions: GCC's or LLVM's."""
    return _name(path).startswith(_CXX_LIBRARY)


def is_sanitizer(path: str | None) -> bool:
    """True for the run-time library of a sanitizer."""
    return _name(path).startswith(_SANITIZERS)


def is_cxx_runtime(path: str | None) -> bool:
    """True for the C library and the C++ library."""
    return is_c_library(path) or is_cxx_library(path)


def is_runtime(path: str | None) -> bool:
    """True for what a program runs on: the C library, the compiler's libraries, the interpreter with its modules."""
    return _name(path).startswith((*_C_LIBRARY, *_COMPILERS)) or is_interpreter(path or "")


def holds_interpreter(path: str) -> bool:
    """True for the file of a CPython: the program ``python3.11``, or libpython."""
    return _INTERPRETER.fullmatch(_name(path)) is not None


def is_standard_module(path: str) -> bool:
    """True for an extension module of Python's standard library."""
    return path.split("/")[-2:-1] == ["lib-dynload"]


def is_cython_runtime(path: str | None) -> bool:
    """True for the module with what all of a package's Cython modules share (``cython --generate-shared``).

    It is told by the name that pandas and scipy give it; calls of their functions pass through it.
    """
    return _name(path).startswith("_cyutility.")


def is_interpreter(path: str) -> bool:
    """True for libpython, the python program and the extension modules of the standard library."""
    return holds_interpreter(path) or is_standard_module(path)


def is_pytorch(path: str) -> bool:
    """True for PyTorch's own libraries, not for libraries that are built upon it."""
    return _PYTORCH.match(_name(path)) is not None or is_pytorch_module(path)


def is_pytorch_module(path: str) -> bool:
    """True for the extension module by which Python loads PyTorch's libraries; it lies in the folder of the package."""
    return _PYTORCH_MODULE.search(without_mark(path)) is not None


def is_torch_python(path: str) -> bool:
    """True for the library of PyTorch's bindings."""
    return _name(path).startswith(TORCH_PYTHON)


def is_torch_cpu(path: str) -> bool:
    """True for the library of PyTorch's operators and their dispatcher."""
    return _name(path).startswith(TORCH_CPU)


def needs_pytorch(needed: Iterable[str]) -> bool:
    """True for an extension of PyTorch, by the names of the libraries that it needs."""
    return any(TORCH in name for name in needed)


def is_foreign(path: str) -> bool:
    """True for a library that may hold the user's native code: it is not of the system, the interpreter or PyTorch."""
    return not (is_pytorch(path) or is_system(path) or is_interpreter(path))
