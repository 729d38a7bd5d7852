"""Whether each call of a function that was inlined passes one of its places, and once; else, where control comes to it.

A call is seen where control comes from a statement of other code to one with which the function begins: compilers move
instructions, and copy them for several ways through the function around, but mark where statements begin.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, FrozenSet, NamedTuple, Tuple

import gdb

from .blocks import entry_of, functions_around, outer_function
from .control_flow import reached
from .cython_lines import flows_of, following_in

_MOST_BYTES = 1 << 16  # of the code of a function, which take a moment
_NEAR = 12  # instructions between the mark of a statement and the first one that is its own

Line = Tuple[str, int]
Lines = FrozenSet[Line]


class Code(NamedTuple):
    """The function around inlined ones.

    ``following``: where control goes from each instruction. ``begin``: where it comes from outside, the entry first,
    then what handles exceptions. ``lines``: the line of each instruction. ``instances``: the functions to which it
    belongs, as start and end of their blocks and names. ``marked``: the lines of which statements begin there by the
    line table.
    """

    following: "dict[int, list[int]]"
    begin: "list[int]"
    lines: "dict[int, Line]"
    instances: "dict[int, frozenset[tuple[int, int, str]]]"
    marked: "dict[int, Lines]"


class Entries(NamedTuple):
    """Where a breakpoint on an inlined function belongs. ``is_sure``: each call passes one of these, and once."""

    places: "list[int]"
    is_sure: bool


def entries(block: gdb.Block, places: "list[int]") -> Entries:
    """The places of an inlined function: these where they are right, else where its first statement begins."""
    outer = outer_function(places[0])
    if outer is None or outer.end - entry_of(outer) > _MOST_BYTES:
        return Entries(places, False)
    try:
        code = _code_of(entry_of(outer), outer.end)
    except gdb.error:
        return Entries(places, False)
    instance = block.start, block.end, block.function.name
    inside = {at for at, around in code.instances.items() if instance in around}
    calls, is_one_line = _calls(code, inside)
    if _is_met_once(code, set(places), calls):
        return Entries(places, True)
    if is_one_line and _are_exclusive(code, calls):
        return Entries(sorted(calls), True)
    return Entries(places, False)


def _calls(code: Code, inside: "set[int]") -> "tuple[set[int], bool]":
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
    begins = common or frozenset().union(*first)
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


def _is_met_once(code: Code, places: "set[int]", calls: "set[int]") -> bool:
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


@lru_cache(maxsize=64)
def _code_of(entry: int, end: int) -> Code:
    """The function that is entered at ``entry``. Raises gdb.error where its code cannot be read."""
    flows = flows_of(entry, end)
    following = following_in(flows)
    led_to = {after for one in following.values() for after in one}
    handlers = [at for at, flow in flows.items() if at != entry and at not in led_to and not flow.is_nop]
    positions = {at: gdb.find_pc_line(at) for at in flows}
    tables = {one.symtab.fullname(): one.symtab for one in positions.values() if one.symtab is not None}
    last, marked = _rows(tables, flows)
    lines = {}
    for at, position in positions.items():
        file = position.symtab.fullname() if position.symtab is not None else ""
        lines[at] = file, last.get((file, position.pc), position.line)
    instances = {
        at: frozenset((one.start, one.end, one.function.name) for one in functions_around(at)) for at in flows
    }
    return Code(following, [entry, *handlers], lines, instances, marked)


def _rows(
    tables: "dict[str, gdb.Symtab]", code: "dict[int, Any]"
) -> "tuple[dict[tuple[str, int], int], dict[int, Lines]]":
    """The line of the last row of each file for an instruction; and the lines of which statements begin there.

    gdb takes one that begins a statement for the line of an instruction, be it that the instruction is of another line.
    """
    last: "dict[tuple[str, int], int]" = {}
    marked: "dict[int, set[Line]]" = {}
    for file, table in tables.items():
        rows = [row for row in table.linetable() if row.pc in code and row.line]
        last.update({(file, row.pc): row.line for row in rows})
        for line in {row.line for row in rows}:
            for row in table.linetable().line(line) or ():
                if row.pc in code:
                    marked.setdefault(row.pc, set()).add((file, line))
    return last, {at: frozenset(one) for at, one in marked.items()}


def _forget(event: Any) -> None:
    """Another file may be mapped at the addresses now."""
    _code_of.cache_clear()


for _name in ("new_objfile", "free_objfile", "clear_objfiles"):
    if hasattr(gdb.events, _name):  # the second is gdb's from version 13 on
        getattr(gdb.events, _name).connect(_forget)
