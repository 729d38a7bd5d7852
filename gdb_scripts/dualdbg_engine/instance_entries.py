"""Whether each call of a function that was inlined passes one of its places, and once; else, where control comes to it.

A call is seen where control comes from a statement of other code to one with which the function begins: compilers move
instructions, and copy them for several ways through the function around, but mark where statements begin.
"""

from __future__ import annotations

from typing import AbstractSet, NamedTuple

import gdb

from .blocks import entry_of, outer_function
from .control_flow import reached
from .function_code import Code, Line, Lines, code_of, instance_of

_NEAR = 12  # instructions between the mark of a statement and the first one that is its own


class Entries(NamedTuple):
    """Where a breakpoint on an inlined function belongs. ``is_sure``: each call passes one of these, and once.
    ``begins``: the lines of the statements with which the function begins, as far as known.
    """

    places: "list[int]"
    is_sure: bool
    begins: Lines = frozenset()


def entries(block: gdb.Block, places: "list[int]") -> Entries:
    """The places of an inlined function: these where they are right, else where its first statement begins."""
    outer = outer_function(places[0])
    code = code_of(outer) if outer is not None else None
    if code is None:
        return Entries(places, False)
    instance = instance_of(block)
    inside = {at for at, frames in code.frames.items() if instance in frames}
    # Of the line of its call is code of the function around, wherever debug info has that in this one.
    call = block.function.symtab.fullname(), block.function.line
    inside = {at for at in inside if code.lines[at] != call}
    ways = Ways.of(code, inside)
    calls, is_one_line = ways.calls()
    begins = frozenset().union(*(ways.statements[at] for at in calls))
    if is_of_gcc(places[0]) and _is_elsewhere(code, instance[2], begins):
        return Entries(places, False)
    if ways.are_met_once(set(places), calls):
        return Entries(places, True, begins)
    if is_one_line and _are_exclusive(code, calls) and ways.are_met_once(calls, calls):
        return Entries(sorted(calls), True, begins)
    return Entries(places, False)


def is_marked_in_others(begins: Lines, places: "list[int]") -> bool:
    """Whether statements with which a function begins are marked in functions without a place of it, in the
    compilation units of its places: GCC has left nothing of an instance there.
    """
    places = [place for place in places if is_of_gcc(place)]
    known = {_entry_around(place) for place in places}
    tables = {one.fullname(): one for one in map(_table, places) if one is not None}
    rows = [
        row for file, line in begins if file in tables for row in tables[file].linetable().line(line) or ()
    ]
    return any(_entry_around(row.pc) not in known for row in rows)


def _entry_around(address: int) -> "int | None":
    block = outer_function(address)
    return entry_of(block) if block is not None else None


def _table(address: int) -> "gdb.Symtab | None":
    return gdb.find_pc_line(address).symtab


def is_of_gcc(address: int) -> bool:
    """Whether GCC has compiled the code at an address."""
    table = _table(address)
    return table is not None and (table.producer or "").startswith("GNU ")


def _is_elsewhere(code: Code, function: str, begins: "Lines") -> bool:
    """Whether a statement with which the function begins is marked where no instance of it is: GCC marks those of
    instances that have no instruction left, of which gdb does not know.
    """
    named = {at for at, frames in code.frames.items() if any(name == function for _, _, name in frames)}
    return any(_first(code, mark, named) is None for mark, lines in code.marked.items() if lines & begins)


class Ways(NamedTuple):
    """The ways of control through a function, as to whether they are in an instance of an inlined one.

    ``inside``: the instructions of the instance, ``own`` their lines. ``statements``: the lines of its statements, at
    the first instruction of each.
    """

    code: Code
    inside: "AbstractSet[int]"
    own: "AbstractSet[Line]"
    statements: "dict[int, Lines]"

    @classmethod
    def of(cls, code: Code, inside: "set[int]") -> "Ways":
        """The ways through ``code``."""
        own = {code.lines[at] for at in inside}
        return cls(code, inside, own, _statements_of(code, inside, own))

    def is_inside_behind(self, at: int, was_inside: bool) -> bool:
        """Whether control is in the instance behind an instruction. It leaves where a statement of others begins."""
        if at in self.statements:
            return True
        leaves = at in self.code.marked and not (at in self.inside and self.code.marked[at] <= self.own)
        return was_inside and not leaves

    def calls(self, begins: "AbstractSet[Line]" = frozenset()) -> "tuple[set[int], bool]":
        """Where control comes from a statement of other code to one with which the function begins; and whether that
        is one statement wherever it comes to the function first. ``begins``: its lines, where they are known.
        """
        code, statements = self.code, self.statements
        comes: "dict[int, bool]" = {}  # to a statement of the function: whether it is the first one on a way

        def following(state: "tuple[int, bool, bool]") -> "list[tuple[int, bool, bool]]":
            at, was_inside, was_there = state
            is_inside = self.is_inside_behind(at, was_inside)
            return [(after, is_inside, was_there or at in statements) for after in code.following[at]]

        begin = [(at, False, at != code.begin[0]) for at in code.begin]
        for at, was_inside, was_there in reached(begin, following):
            if at in statements and not was_inside:
                comes[at] = comes.get(at, False) or not was_there
        first = [statements[at] for at, is_first in comes.items() if is_first] or [
            statements[at] for at in comes
        ]
        common: Lines = frozenset.intersection(*first) if first else frozenset()
        begins = begins or common or frozenset().union(*first)
        return {at for at in comes if statements[at] & begins}, bool(common)

    def are_met_once(self, places: "AbstractSet[int]", calls: "AbstractSet[int]") -> bool:
        """Whether each way to a call passes one of the places, since the last call, and no way passes another one."""

        def following(state: "tuple[int, bool, bool]") -> "list[tuple[int, bool, bool]]":
            at, was_inside, is_met = state
            is_met = (is_met or at in places) and not (at in calls and not was_inside)
            return [
                (after, self.is_inside_behind(at, was_inside), is_met) for after in self.code.following[at]
            ]

        for at, was_inside, was_met in reached([(one, False, False) for one in self.code.begin], following):
            is_met, is_call = was_met or at in places, at in calls and not was_inside
            if (was_met and at in places) or (is_call and not is_met):
                return False
            if is_met and not is_call and not self.code.following[at]:
                return False
        return bool(calls)


def _statements_of(code: Code, inside: "set[int]", own: "set[Line]") -> "dict[int, Lines]":
    """The lines of the statements of an instance, at the first instruction of each that is its own.

    The mark of a statement stays where the compiler has moved instructions of others in front of it.
    """
    found: "dict[int, Lines]" = {}
    for mark, marked in code.marked.items():
        lines = marked & own
        at = _first(code, mark, {one for one in inside if code.lines[one] in lines}) if lines else None
        if at is not None:
            found[at] = found.get(at, lines) | lines
    return found


def _first(code: Code, mark: int, among: "AbstractSet[int]") -> "int | None":
    """The first instruction of a statement that is one of these: the compiler moves others in front of it."""
    at: "int | None" = mark
    for _ in range(_NEAR):
        if at is None or at in among:
            break
        after = code.following[at]
        at = after[0] if len(after) == 1 and after[0] not in code.marked else None
    return at if at in among else None


def _are_exclusive(code: Code, calls: "set[int]") -> bool:
    """Whether no way leads from one of them to another: what control comes to then may as well be the same call."""
    for one in calls:
        behind = set(reached(code.following[one], code.following.__getitem__, {one}))
        if behind & calls:
            return False
    return True
