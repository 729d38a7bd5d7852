"""Where a source line is entered that has no code of its own, for the compiler has inlined what it calls.

gdb goes on to the next line that has some, in whatever function that is.
"""

from __future__ import annotations

from typing import Any, Iterator

import gdb

from .function_locations import entry_of, functions_around, outer_function


def inlined_calls(tables: list[gdb.Symtab], line: int) -> list[dict[str, Any]]:
    """The first code of each function that was inlined by a call on this line of these files.

    Rows have ``address``, ``file``, ``line``, ``function``, which is the one that calls, and ``inlined_in`` where that
    one was inlined itself.
    """
    rows: dict[tuple[int, str], dict[str, Any]] = {}
    for table in tables:
        for outer in _functions_around(table, line):
            for address, caller, around in _called(outer, table.fullname(), line):
                row = {
                    "address": address,
                    "file": table.fullname(),
                    "line": line,
                    "function": caller.function.print_name,
                    "inlined_in": around.function.print_name if around is not None else None,
                    "hides": True,
                }
                rows.setdefault((entry_of(outer), caller.function.name), row)
    return list(rows.values())


def _functions_around(table: gdb.Symtab, line: int) -> list[gdb.Block]:
    """The functions that have code for the nearest lines before and behind this one, and begin before it."""
    by_line: dict[int, list[int]] = {}
    for entry in table.linetable():
        by_line.setdefault(entry.line, []).append(entry.pc)
    before = max((one for one in by_line if 0 < one < line), default=0)
    behind = min((one for one in by_line if one > line), default=0)
    found = {}
    for address in (*by_line.get(before, ()), *by_line.get(behind, ())):
        block = outer_function(address)
        if block is not None:
            found[entry_of(block)] = block
    return list(found.values())


def _called(outer: gdb.Block, file: str, line: int) -> Iterator[tuple[int, gdb.Block, gdb.Block | None]]:
    """The code of functions that were inlined by a call at ``file:line``: the block of the function that calls, and of
    the one into which that was inlined.
    """
    address = entry_of(outer)  # what lies before is seldom run: handlers of exceptions
    while address < outer.end:
        blocks = [*functions_around(address), None]
        for inner, caller, around in zip(blocks, blocks[1:], blocks[2:]):
            # Of an inlined function gdb has the place of the call, not of its declaration.
            if inner.function.line == line and inner.function.symtab.fullname() == file:
                yield address, caller, around
        last = gdb.find_pc_line(address).last
        address = last + 1 if last is not None and last >= address else outer.end
