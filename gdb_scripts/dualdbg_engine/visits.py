"""Where control comes to the code of a source line, or of an inlined function, from elsewhere in its function.

gdb takes the first address of a line for all of it. In code that was generated that may be a branch which is hardly
ever taken. So every address is found at which control comes from other code to that of the line: from the instruction
before it, or by a jump.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Iterator

import gdb
from dualdbg_shared.binding_names import CYTHON_AUTHORS, CYTHON_CDEF

from . import control_flow, function_locations, symbols
from .control_flow import reached

_MOST = 1 << 20  # bytes of a function that are looked at


def line_visits(file: str, line: int, whole: bool) -> list[dict[str, Any]]:
    """The addresses at which control comes to ``file:line`` in functions of the author, inlined ones too.

    ``whole``: at which it comes to those functions that have the line. Rows have ``address``, ``file``, ``line`` and
    ``function``, the C name of the author's function.
    """
    rows = []
    for start, end, authors, marked in _functions_with(file, line):
        if whole:
            rows += function_visits([(start, end, author) for author in authors])
            continue

        body = _behind_prologue(start, start)

        def wanted(
            address: int, marked: dict[int, int] = marked, prologue: range = range(start, body)
        ) -> bool:
            if address in prologue:
                return False  # compilers give it the line above, and a generator that goes on passes it too
            sal = gdb.find_pc_line(address)
            is_line = address in marked or (sal.pc in marked and sal.line == marked[sal.pc])
            return is_line and _author(address) is not None

        rows += [_row(_behind_prologue(address, start)) for address in _entered(start, end, wanted)]
    return rows


def function_visits(functions: list[tuple[int, int, str]]) -> list[dict[str, Any]]:
    """The addresses at which control comes to the lines of functions that were inlined: each with start and end of the
    function around it, and its C name.
    """
    rows = []
    for start, end, name in functions:
        # The only caller of those is the wrapper, which runs it once.
        first = not name.startswith(CYTHON_CDEF)
        found = _entered(start, end, partial(_is_within, name=name), first)
        rows += [{**_row(_behind_prologue(address, start)), "function": name} for address in found]
    return rows


def _functions_with(file: str, line: int) -> list[tuple[int, int, set[str], dict[int, int]]]:
    """Start and end of each function with code of the line, the author's functions there that have it, and where its
    runs of instructions begin, with the line: where there is no code for it gdb takes a line below.
    """
    try:
        _, positions = gdb.decode_line("%s:%d" % (symbols.quoted(file), line))
    except gdb.error:
        return []
    tables = {(one.symtab.fullname(), one.line): one.symtab for one in positions or () if one.symtab}
    found: dict[tuple[int, int], tuple[set[str], dict[int, int]]] = {}
    for (_, number), table in tables.items():
        for entry in table.linetable().line(number) or ():
            block, author = function_locations.outer_function(entry.pc), _author(entry.pc)
            if block is not None and author is not None:
                authors, marked = found.setdefault((block.start, block.end), (set(), {}))
                authors.add(author)
                marked[entry.pc] = number
    return [(start, end, authors, marked) for (start, end), (authors, marked) in sorted(found.items())]


def _behind_prologue(address: int, start: int) -> int:
    return function_locations.function_body(address)["address"] if address == start else address


def _row(address: int) -> dict[str, Any]:
    position = gdb.find_pc_line(address)
    table = position.symtab
    file = table.fullname() if table is not None else None
    author = _author(address)
    return {"address": address, "file": file, "line": position.line or None, "function": author}


def _names(address: int) -> Iterator[str]:
    """The functions that an instruction belongs to, the one that was inlined last first."""
    for block in function_locations.functions_around(address):
        yield block.function.name.partition("(")[0]


def _author(address: int) -> str | None:
    """The C name of the author's function that an instruction belongs to; None in Cython's own code."""
    return next((name for name in _names(address) if name.startswith(CYTHON_AUTHORS)), None)


def _is_within(address: int, name: str) -> bool:
    """Whether the instruction belongs to the function ``name``, or to one that was inlined there."""
    return name in _names(address)


def _entered(start: int, end: int, wanted: Callable[[int], bool], first: bool = False) -> list[int]:
    """The wanted instructions to which control comes from others: as few as stop once for each time that it does.

    ``first``: only those that it may come to before all others.
    """
    flows = control_flow.flows(start, min(end, start + _MOST))
    inside = {address: wanted(address) for address in flows}
    following = _following(flows)
    visits = [start] if inside.get(start) else []
    if first:
        outside = {address: [] if inside[address] else after for address, after in following.items()}
        return sorted(address for address in reached([start], outside.__getitem__) if inside[address])
    for address in reached([start], following.__getitem__):
        if not inside[address]:
            visits += [next_ for next_ in following[address] if inside[next_] and next_ not in visits]
    kept: list[int] = []
    for visit in visits:
        if visit not in kept and visit in reached([start, *following[visit]], following.__getitem__, kept):
            kept.append(visit)  # else it comes here through one that is kept, since the last time too
    return sorted(kept)


def _following(flows: dict[int, control_flow.Flow]) -> dict[int, list[int]]:
    """Where control goes from each instruction within the function.

    An indirect jump has a table, and leads to whatever nothing else leads to.
    """
    found = {address: [one for one in flow.addresses if one in flows] for address, flow in flows.items()}
    led_to = {address for after in found.values() for address in after}
    unreached = [address for address in list(flows)[1:] if address not in led_to]
    return {address: unreached if flows[address].indirect else after for address, after in found.items()}
