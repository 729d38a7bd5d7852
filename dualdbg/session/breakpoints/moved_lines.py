"""What there is to say of a breakpoint on a line without code, which stops at the next line that has some."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from ...backends.native import CodeAddress


def elsewhere(file: str, line: int | None, places: Sequence[CodeAddress]) -> str | None:
    """That the places of a line are in functions that begin behind it; None where one is the line's own."""
    if line is None or not places:
        return None
    if not all(one.begins is not None and one.line != line < one.begins for one in places):
        return None
    first, name = places[0], PurePath(file).name
    function = (first.function or "another function").partition("(")[0]
    return f"{name}:{line} has no code: it stops at line {first.line}, in {function}, which begins behind it"
