"""What there is to say of a breakpoint on a line that has no code, or that several files have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from ...model import Location
from ...shared.requests.code import CodeAddress
from ...system.source_files import source_lines
from .cython_locations import CythonPlace


def elsewhere(file: str, line: int | None, places: Sequence[CodeAddress]) -> str | None:
    """Says that the places of a line belong to another line; None where one belongs to it or to a function around it.

    They lie in functions that begin behind the line, or in inlined ones of which nothing tells where they begin.
    """
    if line is None or not places:
        return None
    if any(one.line == line or (one.begins is not None and one.begins <= line) for one in places):
        return None
    first, name = places[0], PurePath(file).name
    function = (first.function or "another function").partition("(")[0]
    behind = ", which begins behind it" if all(one.begins is not None for one in places) else ""
    return f"{name}:{line} has no code: it stops at line {first.line}, in {function}{behind}"


def behind_end(file: str, first: Sequence[CodeAddress]) -> str | None:
    """Says that a line is behind the code of a file whose ``first`` places are known; None where there are none."""
    path = next((one.file for one in first if one.file is not None), None)
    if path is None:
        return None
    lines = len(source_lines(path))
    return f"{file} has {lines} lines" if lines else f"{file} has no code at that line or behind it"


def several(file: str, locations: Iterable[Location]) -> str | None:
    """Says which files a path means; None where it is one."""
    files = sorted({one.file for one in locations if one.file is not None})
    return f"{file} means {' and '.join(files)}" if len(files) > 1 else None


def of_cython(what: str, line: int | None, places: Sequence[CythonPlace]) -> str | None:
    """That the places of a line of optimised Cython are another line's. None where one is the line's own."""
    lines = [one.location.line for one in places]
    if line is None or line in lines or not lines:
        return None
    return f"{what} has no code of its own: it stops at line {lines[0]}, which may run more or less often, or never"
