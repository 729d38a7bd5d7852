"""Whose a Python source file is, by its path: the standard library's, a package's or the user's. Pure."""

from __future__ import annotations

import re

# sys.platlibdir is lib or lib64; free-threaded builds have python3.13t; Debian's packages are in /usr/lib/python3.
_STANDARD_LIBRARY = re.compile(r"^<frozen |/lib(64)?/python3\.\d+t?/(?!(?:site|dist)-packages/)")
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
