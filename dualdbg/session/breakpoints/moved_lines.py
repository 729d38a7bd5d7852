"""What there is to say of a breakpoint on a line without code, which stops at the next line that has some."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from ...backends.native import CodeAddress


def elsewhere(line: int | None, places: Sequence[CodeAddress]) -> str | None:
    """That the places of ``line`` are in functions that begin behind it; None where one is in the line's own."""
    if line is None or not places:
        return None
    if not all(one.begins is not None and line < one.begins for one in places):
        return None
    first = places[0]
    name = PurePath(first.file or "?").name
    function = (first.function or "another function").partition("(")[0]
    return f"{name}:{line} has no code: it stops at line {first.line}, in {function}, which begins behind it"
