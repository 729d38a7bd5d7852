"""Paths, made short enough for a line. Pure."""

from __future__ import annotations

from pathlib import PurePath

from ..places import here


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
