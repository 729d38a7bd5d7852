"""Whose a Python source file is, by its path: the standard library's, a package's or the user's; and which process has
a Python that cannot be shown. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..shared.python_versions import RANGE

# sys.platlibdir is lib or lib64; free-threaded builds have python3.13t; Debian's packages are in /usr/lib/python3.
_STANDARD_LIBRARY = re.compile(r"^<frozen |/lib(64)?/python3\.\d+t?/(?!(?:site|dist)-packages/)")
# Files of the Pythons that are not CPython: how their names begin.
_OTHERS = {"pypy": "PyPy", "libpypy": "PyPy", "graalpy": "GraalPy", "libpythonvm": "GraalPy"}
_PACKAGE = re.compile(r"/(?:site|dist)-packages/")


def is_standard_library(file: str) -> bool:
    """True for a module of the standard library, a frozen one too."""
    return _STANDARD_LIBRARY.search(file) is not None


def is_package(file: str) -> bool:
    """True for a module of an installed package."""
    return _PACKAGE.search(file) is not None


def is_of_a_library(file: str) -> bool:
    """True for a module of the standard library or of a package: not the user's own code."""
    return is_standard_library(file) or is_package(file)


_INTERPRETER = re.compile(r"python\d*(\.\d+)?[dmt]*(-dbg)?")


def is_interpreter(path: str) -> bool:
    """Whether a program is CPython's own, as all call it: python, python3.13t, python3-dbg."""
    return _INTERPRETER.fullmatch(path.rsplit("/", 1)[-1]) is not None


def other_python(paths: Iterable[str]) -> str | None:
    """The Python other than CPython that the process with these mapped files is; None for any other process."""
    names = [path.rsplit("/", 1)[-1] for path in paths]
    return next(
        (other for begin, other in _OTHERS.items() if any(name.startswith(begin) for name in names)), None
    )


def why_no_python(paths: Iterable[str]) -> str:
    """Why the process with these mapped files has no Python that could be shown."""
    other = other_python(paths)
    if other is None:
        return "there is no Python interpreter in this process"
    return f"the Python of this process is {other}, and only that of {RANGE} is known"
