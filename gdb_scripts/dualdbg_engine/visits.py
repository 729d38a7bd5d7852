"""Where control comes to the code of a source line, or of an inlined function, from elsewhere in its function.

gdb takes the first address of a line for all of it. In code that was generated that may be a branch which is hardly
ever taken. So every address is found at which control comes from other code to that of the line: from the instruction
before it, or by a jump.
"""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple

import gdb
from dualdbg_shared.binding_names import CYTHON_CDEF, is_cython_authors, without_types

from . import blocks, control_flow, function_locations, inlined_calls, source_lines, symbols
from .control_flow import reached

_MOST = 1 << 20  # bytes of a function that are looked at
_SHORT = 8  # instructions of a way that meets another one


def line_visits(file: str, line: int, whole: bool) -> list[dict[str, Any]]:
    """The addresses at which control comes to ``file:line`` in functions of the author, inlined ones too.

    ``whole``: at which it comes to those functions that have the line. Rows have ``address``, ``file``, ``line`` and
    ``function``, the C name of the author's function.
    """
    rows = []
    for start, end, authors, marked, lines in _functions_with(file, line, not whole):
        if whole:
            rows += function_visits([(start, end, author) for author in authors])
            continue

        # Compilers give the prologue the line above, and a generator that goes on passes it too.
        prologue, line_of = range(start, behind_prologue(start, start)), Lines()
        code = flows_of(start, end)
        begun = {
            at for at in marked if _author(at) is not None
        }  # rows of no instruction say where a line begins
        inside = {
            at: at not in prologue and (line_of(at) in lines or (at in begun and at != start)) for at in code
        }
        if not any(inside.values()):
            inside = {at: at not in prologue and at in begun for at in code}
        found = _entered(code, inside)
        rows += [_row(behind_prologue(address, start), line_of(address)) for address in found]
    return rows


class Lines:
    """The line of the author's at which an instruction is, as file and line; None in Cython's own code.

    Of code of Cython's or Python's that was inlined it is the line that calls it.
    """

    def __init__(self) -> None:
        self._of_runs: dict[tuple[int, int], tuple[str, int] | None] = {}

    def __call__(self, address: int) -> tuple[str, int] | None:
        """The line of the instruction at an address."""
        sal = gdb.find_pc_line(address)
        block = gdb.block_for_pc(address)
        run = sal.pc, block.start if block is not None else 0
        if run not in self._of_runs:
            self._of_runs[run] = self._of(address, sal)
        return self._of_runs[run]

    @staticmethod
    def _of(address: int, sal: gdb.Symtab_and_line) -> tuple[str, int] | None:
        inner: gdb.Block | None = None
        for block in blocks.functions_around(address):
            if is_cython_authors(block.function.name):
                if inner is not None:  # of an inlined function gdb has the place of the call
                    return inner.function.symtab.fullname(), inner.function.line
                return (sal.symtab.fullname(), sal.line) if sal.symtab is not None else None
            inner = block
        return None


def function_visits(functions: list[tuple[int, int, str]]) -> list[dict[str, Any]]:
    """The addresses at which control comes to the lines of functions that were inlined: each with start and end of the
    function around it, and its C name.
    """
    rows = []
    for start, end, name in functions:
        # The only caller of those is the wrapper, which runs it once.
        first = not without_types(name).startswith(CYTHON_CDEF)
        code = flows_of(start, end)
        found = _entered(code, {at: _is_within(at, name) for at in code}, first)
        rows += [{**_row(behind_prologue(address, start)), "function": name} for address in found]
    return rows


def flows_of(entry: int, end: int) -> dict[int, control_flow.Flow]:
    """The instructions of a function by their addresses: from its entry on, and its part before, which is seldom run.

    Raises gdb.error where memory cannot be read.
    """
    code = control_flow.flows(entry, min(end, entry + _MOST))
    outer = blocks.outer_function(entry)
    if outer is not None and outer.start < entry:
        behind = outer.start
        while behind < entry and blocks.is_same(blocks.outer_function(behind), outer):
            last = gdb.find_pc_line(behind).last
            behind = last + 1 if last is not None and last >= behind else entry
        code.update(control_flow.flows(outer.start, min(behind, entry, outer.start + _MOST)))
    return code


class Found(NamedTuple):
    """A function with code of a line: entry and end, the author's functions there that have it, where its runs of
    instructions begin, and the lines that are meant.
    """

    start: int
    end: int
    authors: set[str]
    marked: set[int]
    lines: set[tuple[str, int]]


def _functions_with(file: str, line: int, exact: bool) -> list[Found]:
    """The functions with code of the line. Where there is none gdb takes a line below.

    ``exact``: of a line that has no code but in what was inlined, those with that.
    """
    positions = symbols.positions_of_line(file, line)
    tables = {(one.symtab.fullname(), one.line): one.symtab for one in positions if one.symtab}
    found: dict[tuple[int, int], tuple[set[str], set[int], set[tuple[str, int]]]] = {}
    for (name, number), table in tables.items():
        for entry in table.linetable().line(number) or ():
            block, author = blocks.outer_function(entry.pc), _author(entry.pc)
            if block is not None and author is not None:
                authors, marked, lines = found.setdefault(
                    (blocks.entry_of(block), block.end), (set(), set(), set())
                )
                authors.add(author)
                marked.add(entry.pc)
                lines.add((name, number))
        for block, author in _without_statements(table, number):
            authors, _, lines = found.setdefault((block.start, block.end), (set(), set(), set()))
            authors.add(author)
            lines.add((name, number))
    if exact and not any((name, line) in lines for name, _ in tables for _, _, lines in found.values()):
        own = {name: table for (name, _), table in tables.items()}
        called = _functions_that_call(own, line)
        if called:
            return called
    return [
        Found(start, end, authors, marked, lines)
        for (start, end), (authors, marked, lines) in sorted(found.items())
    ]


def _without_statements(table: gdb.Symtab, line: int) -> Iterator[tuple[gdb.Block, str]]:
    """The functions into which an author's function was inlined that has the line, and of which no statement is left;
    with the C name of the author's function.
    """
    begin = {row.pc for row in table.linetable().line(line) or ()}
    for row in table.linetable():
        if row.line != line or row.pc in begin:
            continue
        *inlined, outer = [*blocks.functions_around(row.pc)] or [None]
        for block in inlined:
            name = _c_name(block)
            if is_cython_authors(name):
                if not source_lines.has_statements(table.linetable(), block):
                    yield outer, name
                break


def _functions_that_call(tables: dict[str, gdb.Symtab], line: int) -> list[Found]:
    """The same for a line of which nothing is left but calls that were inlined."""
    rows = []
    for name, table in tables.items():
        for outer in inlined_calls.functions_near(table, line):
            line_of = Lines()
            entry = blocks.entry_of(outer)
            code = flows_of(entry, outer.end)
            on_line = [address for address in code if line_of(address) == (name, line)]
            authors = {author for author in map(_author, on_line) if author is not None}
            if authors:
                rows.append(Found(entry, outer.end, authors, set(), {(name, line)}))
    return rows


def behind_prologue(address: int, start: int) -> int:
    """The address, or where the body of the function begins that is entered there (``start``)."""
    return function_locations.function_body(address)["address"] if address == start else address


def _row(address: int, at: tuple[str, int] | None = None) -> dict[str, Any]:
    """A place; ``at`` is the line of the author's there, where that is known already.

    ``hides``: code of Cython's or of Python's was inlined just there; ``is_inlined``: the author's function was.
    """
    file, line = at or Lines()(address) or (None, None)
    names = list(_names(address))
    author = _author(address)
    depth = names.index(author) if author is not None else 0
    return {
        "address": address,
        "file": file,
        "line": line or None,
        "function": author,
        "hides": depth > 0,
        "is_inlined": depth + 1 < len(names),
    }


def _names(address: int) -> Iterator[str]:
    """The functions that an instruction belongs to, the one that was inlined last first."""
    for block in blocks.functions_around(address):
        yield _c_name(block)


def _c_name(block: gdb.Block) -> str:
    return str(block.function.name.partition("(")[0])


def _author(address: int) -> str | None:
    """The C name of the author's function that an instruction belongs to; None in Cython's own code."""
    return next((name for name in _names(address) if is_cython_authors(name)), None)


def _is_within(address: int, name: str) -> bool:
    """Whether the instruction belongs to the function ``name``, or to one that was inlined there."""
    return name in _names(address)


def _entered(flows: dict[int, control_flow.Flow], inside: dict[int, bool], first: bool = False) -> list[int]:
    """The instructions ``inside`` to which control comes from others: as few as stop once for each time that it does.

    ``first``: only those that it may come to before all others.
    """
    start = next(iter(flows))
    following = following_in(flows)
    visits = [start] if inside.get(start) else []
    if first:
        outside = {address: [] if inside[address] else after for address, after in following.items()}
        found = [address for address in reached([start], outside.__getitem__) if inside[address]]
        return _met_once(sorted(found), flows, following)
    for address in reached([start], following.__getitem__):
        if not inside[address]:
            visits += [next_ for next_ in following[address] if inside[next_] and next_ not in visits]
    kept: list[int] = []
    for visit in visits:
        if visit not in kept and visit in reached([start, *following[visit]], following.__getitem__, kept):
            kept.append(visit)  # else it comes here through one that is kept, since the last time too
    return sorted(kept)


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


def following_in(flows: dict[int, control_flow.Flow]) -> dict[int, list[int]]:
    """Where control goes from each instruction within the function.

    An indirect jump has a table, and leads to whatever nothing else leads to.
    """
    found = {address: [one for one in flow.addresses if one in flows] for address, flow in flows.items()}
    led_to = {address for after in found.values() for address in after}
    unreached = [address for address in list(flows)[1:] if address not in led_to]
    return {address: unreached if flows[address].indirect else after for address, after in found.items()}
