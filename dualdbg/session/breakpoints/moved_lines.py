"""Breakpoints on lines without code of their own: where they stop, and what there is to say of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import PurePath

from ...backends.native import CodeAddress
from ...in_thread import in_thread
from ...symbols.address_space import Module
from ...symbols.gdb_feed.lost_statements import lost_statements
from ..engines import NativeEngine

SHARED = "{} shares an instruction with another line, which may run without it"


async def with_lost(
    native: NativeEngine, modules: Iterable[Module], file: str, line: int, places: Sequence[CodeAddress]
) -> tuple[list[CodeAddress], bool]:
    """Where a line runs: the ``places`` that gdb has of it, and those of its statements that gdb has forgotten. Whether
    there are such; where not, other lines' ``places`` are left.
    """
    own = [one for one in places if one.line == line]
    lost: list[CodeAddress] = []
    files = list(dict.fromkeys(one.file for one in places if one.file is not None)) or [file]
    for name, module in product(files, modules):
        if module.library is not None:
            at = await in_thread(lost_statements, module.library.with_debug_info, name, line)
            addresses = [one + module.bias for one in at]
            if at:
                lost += await native.lost_statements(name, line, addresses, [one.address for one in own])
    return ([*own, *lost] if lost else list(places)), bool(lost)


def elsewhere(file: str, line: int | None, places: Sequence[CodeAddress]) -> str | None:
    """That the places of a line are another line's: in functions that begin behind it, or that were inlined, of which
    nothing tells where they begin. None where one is the line's own, or in a function around it.
    """
    if line is None or not places:
        return None
    if any(one.line == line or (one.begins is not None and one.begins <= line) for one in places):
        return None
    first, name = places[0], PurePath(file).name
    function = (first.function or "another function").partition("(")[0]
    behind = ", which begins behind it" if all(one.begins is not None for one in places) else ""
    return f"{name}:{line} has no code: it stops at line {first.line}, in {function}{behind}"
