"""Paths, made short enough for a line. Pure."""

from __future__ import annotations

from pathlib import PurePath

from ..folders import here
from ..model import NativeFrame


def short_path(path: str, directory: str | None = None) -> str:
    """A path as the user would type it: relative to where they are when it lies below."""
    return path.removeprefix((directory or str(here())).rstrip("/") + "/")


def file_name(path: str | None) -> str:
    """The last part of a path; ``?`` where the file is not known."""
    return PurePath(path).name if path else "?"


def package_path(path: str) -> str:
    """A path inside site-packages or the standard library, from the package on; else :func:`short_path`."""
    for mark in ("/site-packages/", "/dist-packages/"):
        if mark in path:
            return path.rpartition(mark)[2]
    return short_path(path)


# By the language of the source: those that have another tag than their name.
_TAGS = {
    "asm": "asm",
    "cython": "cy",
    "fortran": "f90",
    "minimal": "c++",
    "numba": "jit",
    "objective-c": "objc",
}


def native_tag(frame: NativeFrame) -> str:
    """The language of a native frame in at most four letters: ``c++`` also where it is not known."""
    language = frame.source_language or "c++"
    return _TAGS.get(language, language[:4])
