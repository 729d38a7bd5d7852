"""Where control comes to the code of a source line, or of an inlined function, from elsewhere in its function.

gdb takes the first address of a line for all of it. In code that was generated that may be a branch which is hardly
ever taken. So every address is found at which control comes from other code to that of the line: from the instruction
before it, or by a jump.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple, Sequence

import gdb
from dualdbg_shared.requests.code import FindFunctionVisits, FindInstanceVisits, FindLineVisits, Visit
from dualdbg_shared.toolchains.cython import CYTHON_CDEF, is_cython_authors, without_types

from . import blocks, control_flow, function_code, function_locations, inlined_calls, symbols
from .control_flow import reached
from .cython_lines import behind_prologue, function_at, line_in
from .function_code import flows_of, following_in
from .registry import answers
from .source_lines import begins_statement

_AROUND = 100  # lines
_SHORT = 8  # instructions of a way that meets another one


@answers(FindLineVisits)
def line_visits(file: str, line: int, whole: bool) -> list[Visit]:
    rows = []
    for start, end, authors, begun, lines in _functions_with(file, line, not whole):
        if whole:
            rows += function_visits([(start, end, author) for author in authors])
            continue
        function = function_at(start, end)
        # Where all code is in its place, a line without any has nothing to run.
        is_meant = function.is_plain or any(number == line for _, number in lines)
        is_sure = is_meant and function.is_sure_of(lines)
        for address in function.entries_of(lines, begun):
            place = function.places[address]
            assert place is not None
            at = place.file, place.line
            row = _row(address, _author(address), at if at in lines else min(lines))
            rows.append(row._replace(is_sure=is_sure))
    return rows


@answers(FindFunctionVisits)
def function_visits(functions: Sequence[tuple[int, int, str]]) -> list[Visit]:
    rows = []
    for start, end, name in functions:
        code = flows_of(start, end)
        for inside in _instances(code, name):
            found, is_sure = _entries(start, code, inside)
            rows += [_row(behind_prologue(at, start), name)._replace(is_sure=is_sure) for at in found]
    return rows


@answers(FindInstanceVisits)
def instance_visits(names: Sequence[str], read: Sequence[int]) -> list[Visit]:
    around, within = set(), []
    for one in function_locations.function_instances(names, names, read, linked_whole=read):
        outer = blocks.outer_function(one.address) if one.inlined_in is not None else None
        name = str(one.function).partition("(")[0]
        if outer is None or name not in names:
            continue
        if _c_name(outer) == name:  # inlined into itself
            within.append(_row(one.address, name)._replace(is_inlined=True))
        else:
            around.add((blocks.entry_of(outer), outer.end, name))
    return [*function_visits(sorted(around)), *within]


def _instances(code: dict[int, control_flow.Flow], name: str) -> list[set[int]]:
    """The instructions of each call of the function ``name`` that was inlined.

    Of what ``def`` says the only caller is the wrapper, which runs it once, however often debug info has it.
    """
    found: dict[tuple[int, int], set[int]] = {}
    is_called_by_c = without_types(name).startswith(CYTHON_CDEF)
    for address in code:
        for block in blocks.functions_around(address):
            if _c_name(block) == name:
                key = (block.start, block.end) if is_called_by_c else (0, 0)
                found.setdefault(key, set()).add(address)
    return list(found.values())


def _entries(start: int, code: dict[int, control_flow.Flow], inside: set[int]) -> tuple[list[int], bool]:
    """Where the body of these instructions is entered, and whether each call passes exactly one of the places.

    One place that is before all others is on every way through the body.
    """
    following = following_in(code)

    def first_of(places: set[int]) -> list[int]:
        first = reached([start], lambda at: [] if at in places else following[at])
        return _met_once(sorted(places.intersection(first)), code, following)

    found = first_of(_with_statements(following, inside) or inside)
    if _are_exclusive(found, following, inside) and not _is_run_past(found, start, following, inside):
        return found, True
    first = first_of(inside)
    return (first, True) if len(first) == 1 else (found, False)


def _with_statements(following: dict[int, list[int]], inside: set[int]) -> set[int]:
    """Those of the instructions from which control comes to where a statement begins without leaving them.

    The others were moved out of a body, or belong as well to what is behind it.
    """
    before: dict[int, list[int]] = {}
    for at in inside:
        for after in following[at]:
            before.setdefault(after, []).append(at)
    begins = [at for at in inside if begins_statement(at)]
    return set(reached(begins, lambda at: before.get(at, [])))


def _is_run_past(found: list[int], start: int, following: dict[int, list[int]], inside: set[int]) -> bool:
    """Whether a way through the function comes to a line with which the body begins, and passes none of the entries.

    The compiler may have copied what it does, and not where it begins.
    """
    outer = blocks.outer_function(start)
    code = function_code.code_of(outer) if outer is not None else None
    if code is None:
        return True
    begins = {line for at in found for line in (*code.marked.get(at, ()), code.lines[at])}
    past = [
        at
        for at in reached([start], following.__getitem__, found)
        if at in inside and code.lines[at] in begins
    ]
    return any(not following[at] for at in reached(past, following.__getitem__, found))


def _are_exclusive(found: list[int], following: dict[int, list[int]], inside: set[int]) -> bool:
    """Whether no way leads from one of the entries to another one, but by a loop that calls the function again."""
    for one in found:
        others = set(found) - {one}
        behind = set(reached(following[one], following.__getitem__)) if others else set()
        if one in behind:  # the call is in a loop: what is reached within the body counts
            behind = set(reached(following[one], lambda at: following[at] if at in inside else []))
        if others & behind:
            return False
    return True


class Found(NamedTuple):
    """A function with code of a line: entry and end, the C names of the author's functions there that have it, where
    statements of it begin, and the lines that are meant, as file and line.
    """

    start: int
    end: int
    authors: set[str]
    begun: set[int]
    lines: set[tuple[str, int]]


def _functions_with(file: str, line: int, exact: bool) -> list[Found]:
    """The functions with code of the line. Where there is none gdb takes a line below.

    ``exact``: of a line that has no code but in what was inlined, those with that.
    """
    positions = symbols.positions_of_line(file, line)
    tables = _tables_of(positions)
    found = _functions_of(tables, line)
    # gdb knows no table of which the line begins no statement: it may be that of a line above.
    for above in range(line - 1, max(line - _AROUND, 0), -1) if positions else ():
        if found:
            return found
        found = _functions_of(_tables_of(symbols.positions_of_line(file, above)), line)
    called = _functions_that_call(tables, line) if exact else []
    return called or [
        one for number in {one.line for one in positions} for one in _functions_of(tables, number)
    ]


def _tables_of(positions: Sequence[gdb.Symtab_and_line]) -> list[gdb.Symtab]:
    """The line tables of places, each once."""
    tables = [one.symtab for one in positions if one.symtab is not None]
    return list({(one.fullname(), one.global_block().start): one for one in tables}.values())


def _functions_of(tables: list[gdb.Symtab], line: int) -> list[Found]:
    """The functions with instructions of a line, be it that no statement begins there."""
    found: dict[tuple[int, int], Found] = {}
    for table in tables:
        begin = {row.pc for row in table.linetable().line(line) or ()}
        for row in table.linetable() if table.linetable().has_line(line) else ():
            if row.line != line:
                continue
            block, author = blocks.outer_function(row.pc), _author(row.pc)
            if block is not None and author is not None:
                start, end = blocks.entry_of(block), block.end
                one = found.setdefault((start, end), Found(start, end, set(), set(), set()))
                one.authors.add(author)
                one.lines.add((table.fullname(), line))
                one.begun.update({row.pc} & begin - {start})
    return [one for _, one in sorted(found.items())]


def _functions_that_call(tables: list[gdb.Symtab], line: int) -> list[Found]:
    """The same for a line of which nothing is left but calls that were inlined."""
    rows = []
    for table in tables:
        name = table.fullname()
        for outer in inlined_calls.functions_near(table, line):
            places = function_at(blocks.entry_of(outer), outer.end).places
            on_line = [at for at, place in places.items() if place is not None and place[1:] == (name, line)]
            authors = {author for author in map(_author, on_line) if author is not None}
            if authors:
                rows.append(Found(blocks.entry_of(outer), outer.end, authors, set(), {(name, line)}))
    return rows


def _row(address: int, author: str | None, at: tuple[str, int] | None = None) -> Visit:
    """A place in the author's function of this C name; ``at`` is its line there, where that is known already.

    ``hides``: other code was inlined just there; ``is_inlined``: the author's function was.
    """
    file, line = at or line_in(address, author) or (None, None)
    names = list(_names(address))
    depth = names.index(author) if author in names else 0
    shown = blocks.shown_function(address)
    return Visit(
        address,
        file,
        line or None,
        author,
        hides=author in names and shown is not None and _c_name(shown) != author,
        is_inlined=depth + 1 < len(names),
    )


def _names(address: int) -> Iterator[str]:
    """The functions that an instruction belongs to, the one that was inlined last first."""
    for block in blocks.functions_around(address):
        yield _c_name(block)


def _c_name(block: gdb.Block) -> str:
    return str(block.function.name.partition("(")[0])


def _author(address: int) -> str | None:
    """The C name of the author's function that an instruction belongs to; None in Cython's own code."""
    return next((name for name in _names(address) if is_cython_authors(name)), None)


def _met_once(
    found: list[int], flows: dict[int, control_flow.Flow], following: dict[int, list[int]]
) -> list[int]:
    """Those of ``found`` from which control does not go straight on to another one.

    An optimiser may let several ways go on together, each with a first part of its own or with none: where such a part
    is some instructions in a row, which call nothing, the place at which the ways meet is enough.
    """
    kept = found
    for one in found:
        others = [other for other in kept if other != one]
        at, way = one, 0
        while at not in others and way < _SHORT and flows[at].calls is None and len(following[at]) == 1:
            at, way = following[at][0], way + 1
        if at in others:
            kept = others
    return kept
