"""The code of a function: where control goes in it, the line of each instruction, and where statements begin."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, FrozenSet, NamedTuple, Tuple

import gdb

from . import control_flow
from .blocks import entry_of, functions_around, is_same, outer_function

_MOST = 1 << 20  # bytes of a function that are looked at
_MOST_BYTES = 1 << 16  # of one of which each instruction is looked up

Line = Tuple[str, int]
Lines = FrozenSet[Line]
Instance = Tuple[int, int, str]


class Code(NamedTuple):
    """The function around inlined ones.

    ``following``: where control goes from each instruction. ``begin``: where it comes from outside, the entry first,
    then what handles exceptions. ``lines``: the line of each instruction. ``frames``: the functions to which it
    belongs, the innermost first, and the line in each. ``marked``: the lines of which statements begin there by the
    line table.
    """

    following: "dict[int, list[int]]"
    begin: "list[int]"
    lines: "dict[int, Line]"
    frames: "dict[int, dict[Instance, Line]]"
    marked: "dict[int, Lines]"


def instance_of(block: gdb.Block) -> Instance:
    """Start, end and name of the function of a block."""
    return block.start, block.end, block.function.name


def code_of(outer: gdb.Block) -> "Code | None":
    """The code of a function that was not inlined; None where it is too much, or cannot be read."""
    if outer.end - entry_of(outer) > _MOST_BYTES:
        return None
    try:
        return _code_of(entry_of(outer), outer.end)
    except gdb.error:
        return None


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
    frames = {at: _frames(at, line) for at, line in lines.items()}
    return Code(following, [entry, *handlers], lines, frames, marked)


def _frames(address: int, line: Line) -> "dict[Instance, Line]":
    """The functions around an instruction, and the line in each: in those that call what was inlined, of the call."""
    found = {}
    for block in functions_around(address):
        found[instance_of(block)] = line
        line = block.function.symtab.fullname(), block.function.line
    return found


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


def flows_of(entry: int, end: int) -> dict[int, control_flow.Flow]:
    """The instructions of a function by their addresses: from its entry on, and its part before, which is seldom run.

    Raises gdb.error where memory cannot be read.
    """
    code = control_flow.flows(entry, min(end, entry + _MOST))
    outer = outer_function(entry)
    if outer is not None and outer.start < entry:
        behind = outer.start
        while behind < entry and is_same(outer_function(behind), outer):
            last = gdb.find_pc_line(behind).last
            behind = last + 1 if last is not None and last >= behind else entry
        code.update(control_flow.flows(outer.start, min(behind, entry, outer.start + _MOST)))
    return code


def following_in(flows: dict[int, control_flow.Flow]) -> dict[int, list[int]]:
    """Where control goes from each instruction within the function.

    An indirect jump has a table, and leads to whatever nothing else leads to.
    """
    found = {address: [one for one in flow.addresses if one in flows] for address, flow in flows.items()}
    led_to = {address for after in found.values() for address in after}
    unreached = [address for address in list(flows)[1:] if address not in led_to]
    return {address: unreached if flows[address].indirect else after for address, after in found.items()}


def _forget(event: Any) -> None:
    """Another file may be mapped at the addresses now."""
    _code_of.cache_clear()


for _name in ("new_objfile", "free_objfile", "clear_objfiles"):
    if hasattr(gdb.events, _name):  # the second is gdb's from version 13 on
        getattr(gdb.events, _name).connect(_forget)
