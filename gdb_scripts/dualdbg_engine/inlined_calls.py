"""Where a source line is entered that has no code of its own, for the compiler has inlined what it calls.

gdb goes on to the next line that has some, in whatever function that is.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Iterable, Iterator, NamedTuple

import gdb

from .blocks import entry_of, functions_around, lines_of_function, outer_function
from .copies import first_reached
from .function_locations import decoded
from .source_lines import begins_statement

_AROUND = 6  # lines with code
_MOST_ROWS = 20_000  # of a file's line table
_MOST_BYTES = 1 << 18  # of the code of a file, which take a moment


class Run(NamedTuple):
    """Instructions of a function that was inlined by a call, as the block of its instance; ``caller`` is that of the
    function that calls, ``around`` that of the one into which this was inlined.
    """

    address: int
    inlined: gdb.Block
    caller: gdb.Block
    around: gdb.Block | None


def inlined_calls(tables: list[gdb.Symtab], line: int) -> list[dict[str, Any]]:
    """The first code of each function that was inlined by a call on this line of these files.

    Rows have ``address``, ``file``, ``line``, ``function``, which is the one that calls, and ``inlined_in`` where that
    one was inlined itself. ``is_sure``: a statement begins there; else the compiler may have moved it there from behind
    a branch.
    """
    rows = []
    for table in tables:
        file = table.fullname()
        finders = (
            partial(functions_near, table, line),
            partial(_functions_of, table),
            partial(_functions_of_unit, table),
        )
        found = ([*_entered(find(), file, line)] for find in finders)
        for run in next(filter(None, found), []):
            row = {
                "address": run.address,
                "file": file,
                "line": line,
                "function": run.caller.function.print_name,
                "inlined_in": run.around.function.print_name if run.around is not None else None,
                "hides": True,
                "is_sure": begins_statement(run.address),
            }
            rows.append(row)
    return rows


def _entered(near: list[gdb.Block], file: str, line: int) -> Iterator[Run]:
    """Where the line is entered in these functions, and in those into which what calls there was inlined too."""
    waiting, seen, names = list(near), set(), set()
    while waiting:
        outer = waiting.pop(0)
        if entry_of(outer) in seen:
            continue
        seen.add(entry_of(outer))
        # Each instance of a function that was inlined is entered by itself.
        instances: dict[tuple[str, int, int], list[Run]] = {}
        for run in _called(outer, file, line):
            caller = run.caller
            instances.setdefault((caller.function.name, caller.start, caller.end), []).append(run)
        for runs in instances.values():
            yield from _first_of(outer, runs)
            name = runs[0].caller.function.print_name
            if name not in names:
                names.add(name)
                found = (outer_function(position.pc) for position in decoded(name))
                waiting += [block for block in found if block is not None]


def _first_of(outer: gdb.Block, runs: list[Run]) -> list[Run]:
    """Those of one instance at which the line is entered: to which control comes first, and their copies.

    Compilers that unroll a loop copy what was inlined there. A copy begins with the same instruction. Other runs are
    what is left of a call, mixed with the code around.
    """
    first = first_reached(outer, {run.address for run in runs}) or [runs[0].address]
    begin = {(_place(run.inlined), _instruction(run.address)) for run in runs if run.address in first}
    return [run for run in runs if (_place(run.inlined), _instruction(run.address)) in begin]


def _place(block: gdb.Block) -> tuple[int, int, str]:
    return block.start, block.end, block.function.name


def _instruction(address: int) -> str:
    """The text of an instruction, the same wherever it stands: gdb adds the address to a distance."""
    (row,) = gdb.selected_inferior().architecture().disassemble(address)
    return re.sub(r"\S+\(%rip\)", "(%rip)", row["asm"])


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
                "is_sure": False,
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
    return _functions_at(address for one in (*before, *behind) for address in by_line[one])


def _functions_of(table: gdb.Symtab) -> list[gdb.Block]:
    """All functions that have code of this file; none where that is more than can be looked at."""
    return _unless_too_many([entry.pc for entry in table.linetable()])


def _functions_of_unit(table: gdb.Symtab) -> list[gdb.Block]:
    """All functions of the compilation unit to which this file belongs; none where that is more than can be looked at.

    gdb forgets the rows of a file at whose addresses rows of another one follow: a header's line that only calls what
    was inlined may have no others.
    """
    blocks = (table.global_block(), table.static_block())
    return _unless_too_many(
        [int(symbol.value().address) for block in blocks for symbol in block if symbol.is_function]
    )


def _unless_too_many(addresses: list[int]) -> list[gdb.Block]:
    """The functions around these addresses; none where that is more code than can be looked at."""
    found = _functions_at(addresses) if len(addresses) <= _MOST_ROWS else []
    return found if sum(block.end - entry_of(block) for block in found) <= _MOST_BYTES else []


def _functions_at(addresses: Iterable[int]) -> list[gdb.Block]:
    """The functions around these addresses that were not inlined, each once."""
    found: dict[int, gdb.Block] = {}
    for address in addresses:
        block = outer_function(address)
        if block is not None:
            found.setdefault(entry_of(block), block)
    return list(found.values())


def _called(outer: gdb.Block, file: str, line: int) -> Iterator[Run]:
    """The runs of instructions of functions that were inlined by a call at ``file:line``."""
    before: set[tuple[int, int, str]] = set()
    for address in lines_of_function(outer):
        blocks, now = [*functions_around(address), None], set()
        for inner, caller, around in zip(blocks, blocks[1:], blocks[2:]):
            # Of an inlined function gdb has the place of the call, not of its declaration.
            if inner.function.line == line and inner.function.symtab.fullname() == file:
                now.add(_place(inner))
                if _place(inner) not in before:
                    yield Run(address, inner, caller, around)
        before = now
