"""Whose a library is, by its path: the system's, the C library's, the interpreter's or PyTorch's. Pure."""

from __future__ import annotations

import re
from pathlib import PurePath

# Where distributions put libraries of 64-bit programs (Filesystem Hierarchy Standard 3.0, Debian's multiarch).
_SYSTEM_FOLDERS = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/libexec/")
# Parts of these folders that do not belong to the system: packages of Python, and the interpreter's modules.
_PYTHON_FOLDER = re.compile(r"/python3[^/]*/|-packages/")

# libc-2.31.so, libpthread-2.31.so: their names up to glibc 2.33; ld-musl and libc.musl: Alpine's.
C_LIBRARY = ("libc.so", "libc-", "libc.musl", "libpthread", "ld-linux", "ld-musl", "[vdso]")
_COMPILERS = ("libstdc++", "libgcc_s")

_INTERPRETER = re.compile(r"(?:libpython3[\w.]*\.so[\w.]*|python3?[\d.]*t?d?)$")
# The libraries that PyTorch's own build makes. Extensions have names like these (libtorchaudio.so, torchvision/_C.so).
_PYTORCH = re.compile(r"(?:libtorch|libc10|libcaffe2)(?:_\w+)?\.so[\d.]*$|libshm\.so")
_PYTORCH_MODULE = re.compile(r"/torch/_C\w*\.[^/]*so$")


def is_system(path: str) -> bool:
    """True for libraries of the distribution: not for the packages of Python that live there, nor for PyTorch."""
    return path.startswith(_SYSTEM_FOLDERS) and not (_PYTHON_FOLDER.search(path) or is_pytorch(path))


def is_c_library(path: str | None) -> bool:
    """True for the C library, the loader and the kernel's vDSO, wherever they lie: Nix brings its own."""
    return (path or "").rpartition("/")[2].startswith(C_LIBRARY)


def is_runtime(path: str | None) -> bool:
    """True for what a program runs on: the C library, the compiler's libraries, the interpreter with its modules."""
    name = PurePath(path or "").name
    return name.startswith((*C_LIBRARY, *_COMPILERS)) or is_interpreter(path or "")


def is_cxx_runtime(path: str | None) -> bool:
    """True for the C library and the C++ library."""
    return PurePath(path or "").name.startswith((*C_LIBRARY, "libstdc++"))


def is_interpreter(path: str) -> bool:
    """True for libpython, the python program and the extension modules of the standard library."""
    return _INTERPRETER.match(PurePath(path).name) is not None or is_standard_module(path)


def is_standard_module(path: str) -> bool:
    """True for an extension module of Python's standard library."""
    return PurePath(path).parent.name == "lib-dynload"


def is_pytorch(path: str) -> bool:
    """True for PyTorch's own libraries, not for libraries that are built upon it."""
    return _PYTORCH.match(PurePath(path).name) is not None or _PYTORCH_MODULE.search(path) is not None


def is_foreign(path: str) -> bool:
    """True for a library that may hold the user's native code: it is not of the system, the interpreter or PyTorch."""
    return not (is_pytorch(path) or is_system(path) or is_interpreter(path))
