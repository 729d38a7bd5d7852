"""Whether each call of a function that was inlined passes one of its places, and once; else, where control comes to it.

A call is seen where control comes from a statement of other code to one with which the function begins: compilers move
instructions, and copy them for several ways through the function around, but mark where statements begin.
"""

from __future__ import annotations

from typing import AbstractSet, NamedTuple

import gdb

from .blocks import outer_function
from .control_flow import reached
from .function_code import Code, Line, Lines, code_of, instance_of

_NEAR = 12  # instructions between the mark of a statement and the first one that is its own


class Entries(NamedTuple):
    """Where a breakpoint on an inlined function belongs. ``is_sure``: each call passes one of these, and once."""

    places: "list[int]"
    is_sure: bool


def entries(block: gdb.Block, places: "list[int]") -> Entries:
    """The places of an inlined function: these where they are right, else where its first statement begins."""
    outer = outer_function(places[0])
    code = code_of(outer) if outer is not None else None
    if code is None:
        return Entries(places, False)
    instance = instance_of(block)
    inside = {at for at, frames in code.frames.items() if instance in frames}
    calls, is_one_line = visits(code, inside)
    if is_met_once(code, set(places), calls):
        return Entries(places, True)
    if is_one_line and _are_exclusive(code, calls):
        return Entries(sorted(calls), True)
    return Entries(places, False)


def visits(
    code: Code, inside: "set[int]", begins: "AbstractSet[Line]" = frozenset()
) -> "tuple[set[int], bool]":
    """Where control comes from a statement of other code to one with which the function begins; and whether that is
    one statement wherever it comes to the function first.
    """
    own = {code.lines[at] for at in inside}
    statements = _statements_of(code, inside, own)
    comes: "dict[int, bool]" = {}  # to a statement of the function: whether it is the first one on a way

    def following(state: "tuple[int, bool, bool]") -> "list[tuple[int, bool, bool]]":
        at, was_inside, was_there = state
        if at in statements:
            was_inside = was_there = True
        elif at in code.marked and not (at in inside and code.marked[at] <= own):
            was_inside = False
        return [(after, was_inside, was_there) for after in code.following[at]]

    begin = [(at, False, at != code.begin[0]) for at in code.begin]
    for at, was_inside, was_there in reached(begin, following):
        if at in statements and not was_inside:
            comes[at] = comes.get(at, False) or not was_there
    first = [statements[at] for at, is_first in comes.items() if is_first] or [statements[at] for at in comes]
    common: Lines = frozenset.intersection(*first) if first else frozenset()
    begins = begins or common or frozenset().union(*first)
    return {at for at in comes if statements[at] & begins}, bool(common)


def _statements_of(code: Code, inside: "set[int]", own: "set[Line]") -> "dict[int, Lines]":
    """The lines of the statements of an instance, at the first instruction of each that is its own.

    The mark of a statement stays where the compiler has moved instructions of others in front of it.
    """
    found: "dict[int, Lines]" = {}
    for mark, marked in code.marked.items():
        lines = marked & own
        at: "int | None" = mark
        for _ in range(_NEAR if lines else 0):
            if at is None or (at in inside and code.lines[at] in lines):
                break
            after = code.following[at]
            at = after[0] if len(after) == 1 and after[0] not in code.marked else None
        if lines and at in inside and at is not None and code.lines[at] in lines:
            found[at] = found.get(at, lines) | lines
    return found


def is_met_once(code: Code, places: "set[int]", calls: "set[int]") -> bool:
    """Whether each way to a call passes one of the places, since the last call, and no way passes another one."""

    def following(state: "tuple[int, bool]") -> "list[tuple[int, bool]]":
        at, is_met = state
        is_met = (is_met or at in places) and at not in calls
        return [(after, is_met) for after in code.following[at]]

    for at, was_met in reached([(one, False) for one in code.begin], following):
        is_met = was_met or at in places
        if (was_met and at in places) or (at in calls and not is_met):
            return False
        if is_met and at not in calls and not code.following[at]:
            return False
    return bool(calls)


def _are_exclusive(code: Code, calls: "set[int]") -> bool:
    """Whether no way leads from one of them to another: what control comes to then may as well be the same call."""
    for one in calls:
        behind = set(reached(code.following[one], code.following.__getitem__, {one}))
        if behind & calls:
            return False
    return True
