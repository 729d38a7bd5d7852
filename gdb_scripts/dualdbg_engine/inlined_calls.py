"""Where a source line is entered that has no code of its own, for the compiler has inlined what it calls.

gdb goes on to the next line that has some, in whatever function that is.
"""

from __future__ import annotations

from typing import Any, Iterator

import gdb

from .function_locations import entry_of, functions_around, lines_of_function, outer_function

_AROUND = 6  # lines with code


def inlined_calls(tables: list[gdb.Symtab], line: int) -> list[dict[str, Any]]:
    """The first code of each function that was inlined by a call on this line of these files.

    Rows have ``address``, ``file``, ``line``, ``function``, which is the one that calls, and ``inlined_in`` where that
    one was inlined itself.
    """
    rows: dict[tuple[int, str, int, int], dict[str, Any]] = {}
    for table in tables:
        for outer in functions_near(table, line):
            for address, caller, around in _called(outer, table.fullname(), line):
                row = {
                    "address": address,
                    "file": table.fullname(),
                    "line": line,
                    "function": caller.function.print_name,
                    "inlined_in": around.function.print_name if around is not None else None,
                    "hides": True,
                }
                # Each instance of a function that was inlined is entered by itself.
                rows.setdefault((entry_of(outer), caller.function.name, caller.start, caller.end), row)
    return list(rows.values())


def parts_of_line(tables: list[gdb.Symtab], line: int) -> list[dict[str, Any]]:
    """The first code of this line in each function, and in each place where that was inlined: of a line that never
    begins as the source says, for the compiler has mixed it with others.
    """
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for table in tables:
        for address in sorted(entry.pc for entry in table.linetable() if entry.line == line):
            block, around = [*functions_around(address), None, None][:2]
            if block is None or gdb.find_pc_line(address).line != line:
                continue
            row = {
                "address": address,
                "file": table.fullname(),
                "line": line,
                "function": block.function.print_name,
                "inlined_in": around.function.print_name if around is not None else None,
                "hides": False,
            }
            rows.setdefault((block.start, block.end), row)
    return list(rows.values())


def functions_near(table: gdb.Symtab, line: int) -> list[gdb.Block]:
    """The functions that have code for the lines around this one: where its function is, or was inlined."""
    by_line: dict[int, list[int]] = {}
    for entry in table.linetable():
        by_line.setdefault(entry.line, []).append(entry.pc)
    before = sorted(one for one in by_line if 0 < one < line)[-_AROUND:]
    behind = sorted(one for one in by_line if one > line)[:_AROUND]
    found = {}
    for address in (address for one in (*before, *behind) for address in by_line[one]):
        block = outer_function(address)
        if block is not None:
            found[entry_of(block)] = block
    return list(found.values())


def _called(outer: gdb.Block, file: str, line: int) -> Iterator[tuple[int, gdb.Block, gdb.Block | None]]:
    """The code of functions that were inlined by a call at ``file:line``: the block of the function that calls, and of
    the one into which that was inlined.
    """
    for address in lines_of_function(outer):
        blocks = [*functions_around(address), None]
        for inner, caller, around in zip(blocks, blocks[1:], blocks[2:]):
            # Of an inlined function gdb has the place of the call, not of its declaration.
            if inner.function.line == line and inner.function.symtab.fullname() == file:
                yield address, caller, around
