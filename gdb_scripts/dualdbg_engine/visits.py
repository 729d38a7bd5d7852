"""Where control comes to the code of a source line, or of an inlined function, from elsewhere in its function.

gdb takes the first address of a line for all of it. In code that was generated that may be a branch which is hardly
ever taken, so each address is found at which an instruction before, or a jump, leads from other code into the line's.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Callable, Iterator

import gdb

from . import function_places, symbols

# Direct jumps of x86-64 and AArch64. What they lead to is the last number.
_JUMP = re.compile(r"(?:notrack |bnd )*(?:j\w+|b(?:\.\w+)?|cbn?z|tbn?z)\s.*?(0x[0-9a-f]+)(?:\s*<.*)?$")
_INDIRECT = re.compile(r"(?:notrack |bnd )*(?:jmpq?\s+\*|br\s)")
_ENDS = re.compile(
    r"(?:notrack |bnd |repz )*(?:jmpq?|b|br|retq?|ud2|hlt|udf)(?:\s|$)"
)  # nothing goes on behind it
_AUTHORS = re.compile(r"__pyx_(?:f|pf|gb|pymod_exec)_")  # dualdbg/known/cython_names.py
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
        first = not name.startswith("__pyx_f_")  # the only caller of those is the wrapper, which runs it once
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
            block, author = _physical(entry.pc), _author(entry.pc)
            if block is not None and author is not None:
                authors, marked = found.setdefault((block.start, block.end), (set(), {}))
                authors.add(author)
                marked[entry.pc] = number
    return [(start, end, authors, marked) for (start, end), (authors, marked) in sorted(found.items())]


def _physical(address: int) -> Any:
    """The block of the function that was not inlined."""
    found, block = None, gdb.block_for_pc(address)
    while block is not None and not block.is_static and not block.is_global:
        if block.function is not None:
            found = block
        block = block.superblock
    return found


def _behind_prologue(address: int, start: int) -> int:
    return function_places.function_body(address)["address"] if address == start else address


def _row(address: int) -> dict[str, Any]:
    position = gdb.find_pc_line(address)
    table = position.symtab
    file = table.fullname() if table is not None else None
    author = _author(address)
    return {"address": address, "file": file, "line": position.line or None, "function": author}


def _names(address: int) -> Iterator[str]:
    """The functions that an instruction belongs to, the one that was inlined last first."""
    block = gdb.block_for_pc(address)
    while block is not None and not block.is_static and not block.is_global:
        if block.function is not None:
            yield block.function.name.partition("(")[0]
        block = block.superblock


def _author(address: int) -> str | None:
    """The C name of the author's function that an instruction belongs to; None in Cython's own code."""
    return next((name for name in _names(address) if _AUTHORS.match(name)), None)


def _is_within(address: int, name: str) -> bool:
    """Whether the instruction belongs to the function ``name``, or to one that was inlined there."""
    return name in _names(address)


def _entered(start: int, end: int, wanted: Callable[[int], bool], first: bool = False) -> list[int]:
    """The wanted instructions to which control comes from others: as few as stop once for each time that it does.

    ``first``: only those that it may come to before all others.
    """
    rows = gdb.selected_inferior().architecture().disassemble(start, min(end, start + _MOST) - 1)
    inside = {row["addr"]: wanted(row["addr"]) for row in rows}
    following = _following(rows)
    visits = [start] if inside.get(start) else []
    if first:
        outside = {address: [] if inside[address] else after for address, after in following.items()}
        return sorted(address for address in _reached(outside, [start], frozenset()) if inside[address])
    for address in _reached(following, [start], frozenset()):
        if not inside[address]:
            visits += [next_ for next_ in following[address] if inside[next_] and next_ not in visits]
    kept: list[int] = []
    for visit in visits:
        passed = frozenset(kept)
        if visit in kept or visit not in _reached(following, [start, *following[visit]], passed):
            continue  # whoever comes here has come through one that is kept, since the last time too
        kept.append(visit)
    return sorted(kept)


def _following(rows: list[Any]) -> dict[int, list[int]]:
    """Where control goes from each instruction: to the next one, and to where it jumps within the function."""
    addresses = [row["addr"] for row in rows]
    known = set(addresses)
    found: dict[int, list[int]] = {}
    anywhere = any(_INDIRECT.match(row["asm"].strip()) for row in rows)  # a table of jumps
    for row, behind in zip(rows, [*addresses[1:], None]):
        text = row["asm"].strip()
        after = [] if behind is None or _ENDS.match(text) else [behind]
        jump = _JUMP.match(text)
        if jump is not None and int(jump.group(1), 16) in known:
            after.append(int(jump.group(1), 16))
        found[row["addr"]] = after
    if anywhere:
        reached = {address for after in found.values() for address in after}
        unreached = [address for address in addresses[1:] if address not in reached]
        for row in rows:
            if _INDIRECT.match(row["asm"].strip()):
                found[row["addr"]] = unreached
    return found


def _reached(following: dict[int, list[int]], begin: list[int], without: frozenset[int]) -> dict[int, None]:
    """What control can come to from ``begin``, and not through ``without``; in the order in which it is come to."""
    found = {address: None for address in begin if address not in without}
    waiting = list(found)
    while waiting:
        for address in following[waiting.pop()]:
            if address not in found and address not in without:
                found[address] = None
                waiting.append(address)
    return found
