"""Where compilers have copied the code of a line, or of a function's beginning, for several ways through a function."""

from __future__ import annotations

import linecache
import re
from itertools import islice
from pathlib import Path
from typing import Callable, Container

import gdb
from dualdbg_shared.producers import is_optimized

from . import control_flow
from .blocks import entry_of, inner_function, is_in, is_same, outer_function

_CLOSES = re.compile(r"\s*\}[\s;})]*(?://.*)?\s*")
_MOST_OF_LINE = 500  # instructions
_MOST_OF_FUNCTION = 20_000


def copies_of_beginning(entry: int, block: gdb.Block) -> list[int]:
    """Other code of the line with which an inlined function begins, to which a way leads past the entry.

    It may begin with a line of what was inlined into it.
    """
    outer = outer_function(entry)
    first = gdb.find_pc_line(entry)
    if first.symtab is None or outer is None:
        return []
    table = first.symtab.linetable()
    same = {row.pc for row in table.line(first.line) or () if gdb.find_pc_line(row.pc).line == first.line}
    begins = (_first_in(block, row) for row in same - {entry})
    found = {address for address in begins if address is not None and address != entry}
    return first_reached(outer, found, {entry}) if found else []


def copies_of_line(position: gdb.Symtab_and_line, address: int) -> list[int]:
    """Where else control comes to the line that gdb has placed at an address, in the same function or instance of it.

    The compiler has copied the code for several ways through the function; each way has one of these places.
    """
    outer, block = outer_function(address), inner_function(address)
    if outer is None or block is None:
        return []
    rows = {row.pc for row in position.symtab.linetable().line(position.line) or ()} - {address}
    found = {row for row in rows if (there := inner_function(row)) is not None and is_same(there, block)}
    kept = [address]
    for copy in first_reached(outer, found, {address}) if found else []:
        if not any(copy in _run_of_line(one) or one in _run_of_line(copy) for one in kept):
            kept.append(copy)
    return kept[1:]


def ends_of_scope(position: gdb.Symtab_and_line) -> list[int]:
    """Where control comes to a line of closing braces in code that was not optimised; empty for any other line.

    GCC gives this line to destructors of temporaries too. They run before statements above the line have begun.
    """
    table, line, outer = position.symtab, position.line, outer_function(position.pc)
    if (
        outer is None
        or is_optimized(table.producer) is not False
        or not _CLOSES.fullmatch(_text(table, line))
    ):
        return []
    entry, code = entry_of(outer), control_flow.Code()

    def inside(one: int) -> list[int]:
        return [at for at in code.following(one) if outer.start <= at < outer.end]

    passed = set(islice(control_flow.reached([entry], inside), _MOST_OF_FUNCTION))
    begins: dict[int, int] = {}  # of each line above
    for row in table.linetable():
        if row.pc in passed and outer.function.line < row.line < line:
            begins[row.line] = min(row.pc, begins.get(row.line, row.pc))
    places = passed.intersection(row.pc for row in table.linetable().line(line) or ())
    later = {at: {one for one in begins.values() if one > at} for at in places}
    ends = [at for at in places if later[at].isdisjoint([*control_flow.reached([at], inside)])]
    return first_reached(outer, set(ends)) if len(ends) < len(places) else []


def _text(table: gdb.Symtab, line: int) -> str:
    """A line of the source; empty where it cannot be read."""
    if not Path(table.fullname()).is_file():
        return ""
    return linecache.getline(table.fullname(), line)


def _run_of_line(address: int) -> set[int]:
    """The instructions to which control comes from one before it leaves the line, and the first behind."""
    code, line = control_flow.Code(), gdb.find_pc_line(address).line

    def following(one: int) -> tuple[int, ...]:
        return code.following(one) if gdb.find_pc_line(one).line == line else ()

    return set(islice(control_flow.reached([address], following), _MOST_OF_LINE))


def first_reached(function: gdb.Block, places: set[int], without: Container[int] = ()) -> list[int]:
    """Those of ``places`` to which a way leads from the entry of a function that passes no other of them, and none of
    ``without``.
    """
    return first_reached_from(
        entry_of(function), lambda one: function.start <= one < function.end, places, without
    )


def first_reached_from(
    entry: int, is_inside: Callable[[int], bool], places: set[int], without: Container[int] = ()
) -> list[int]:
    """The same from an entry, through what ``is_inside`` calls the same function."""
    code = control_flow.Code()

    def following(address: int) -> list[int]:
        return [one for one in code.following(address) if is_inside(one)] if address not in places else []

    ways = control_flow.reached([entry], following, without)
    return sorted(places.intersection(islice(ways, _MOST_OF_FUNCTION)))


def _first_in(block: gdb.Block, row: int) -> int | None:
    """The first instruction of a function in the run of one line that begins at ``row``, which may begin in another."""
    last = gdb.find_pc_line(row).last
    if last is None or row >= block.end or last < block.start:
        return None
    for one in gdb.selected_inferior().architecture().disassemble(row, last):
        if is_in(one["addr"], block):
            return int(one["addr"])
    return None
