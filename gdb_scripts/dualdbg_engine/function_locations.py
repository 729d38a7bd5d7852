"""Where a breakpoint on a function belongs: behind its prologue or at its entry, and wherever it was inlined.

A place must be on every way through the function, and be passed once a call.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import Any, Iterator, Sequence

import gdb
from dualdbg_shared.libraries import is_system_source

from . import control_flow

_OPTIMIZED = re.compile(r"(?:^|\s)-O(\w*)")
_MOST_INSTRUCTIONS = 500  # of a prologue: one with an address sanitizer's code has about a hundred
_MOST_OF_FUNCTION = 20_000
_MOST_RUNS = 32  # of instructions of one line, at which a line of the source is looked for


def function_body(address: int) -> dict[str, Any]:
    """Where a breakpoint on the function that begins at ``address`` belongs, its source line, and whether code of
    other functions was inlined just there.

    It is behind the prologue where arguments can be read there alone, which is in code that was not optimised: as
    gdb has it (find_function_start_sal). Everywhere else it is the entry: the second line of optimised code may lie
    behind a branch, or in a loop.
    """
    position = gdb.find_pc_line(address)
    if position.symtab is None:
        return {"address": address, "file": None, "line": None, "hides": False}
    block = outer_function(address)
    place = address
    if block is not None and entry_of(block) == address and position.last is not None:
        body = position.last + 1
        if address < body < block.end and _is_passed_once(address, body, block.end, position.symtab.producer):
            place = body
    file, line = source_of(place, block)
    inner = inner_function(place)
    hides = block is not None and inner is not None and not _is_same(inner, block)
    return {"address": place, "file": file, "line": line, "hides": hides}


def function_instances(
    names: list[str], expand: list[str], read: list[int], at: list[int]
) -> list[dict[str, Any]]:
    """Every place where a breakpoint on a function of one of these names belongs, in the symbols that gdb has read.

    ``function`` is the name with parameters where gdb knows them, ``inlined_in`` the function into which this instance
    was inlined. ``expand`` are names without scopes: of code that was optimised when it was linked gdb's index has no
    others, and gdb reads what has these first; ``read`` are addresses whose
    debug info it reads before. The functions that begin ``at`` these addresses are meant too, by their names in debug
    info. An inlined instance begins where gdb has its first instruction.
    """
    rows = {}
    begin = [outer_function(address) for address in at]
    names = list(dict.fromkeys([*names, *(one.function.print_name for one in begin if one is not None)]))
    for address in read:
        gdb.find_pc_line(address)
    for name in expand:
        _decoded(name)
    for name in names:
        for position in _decoded(name):
            block = function_named(name, position.pc)
            if block is None:
                continue
            caller = caller_of(block)
            called = {
                "function": block.function.print_name,
                "linkage": block.function.linkage_name,
                "inlined_in": caller.function.print_name if caller is not None else None,
            }
            found = [function_body(entry_of(block))] if caller is None else _entries(position, block)
            for row in found:
                row.update(called)
                rows[row["address"], row["function"], row["inlined_in"]] = row
    return list(rows.values())


def _decoded(name: str) -> Sequence[gdb.Symtab_and_line]:
    try:
        return gdb.decode_line(name)[1] or ()
    except gdb.error:  # it has no such function
        return ()


def _entries(position: gdb.Symtab_and_line, block: gdb.Block) -> list[dict[str, Any]]:
    """Where an inlined function is entered: where gdb says, and where the compiler has made a copy of its beginning."""
    rows = []
    for address in (position.pc, *_copies(position, block)):
        file, line = source_of(address, block)
        inner = inner_function(address)
        hides = inner is not None and not _is_same(inner, block)
        rows.append({"address": address, "file": file, "line": line, "hides": hides})
    return rows


def _copies(position: gdb.Symtab_and_line, block: gdb.Block) -> list[int]:
    """Other code of the line with which an inlined function begins, to which a way leads past the entry.

    It may begin with a line of what was inlined into it.
    """
    outer = outer_function(position.pc)
    first = gdb.find_pc_line(position.pc)
    if first.symtab is None or outer is None:
        return []
    copies: list[int] = []
    reached: set[int] | None = None
    same = {row.pc for row in first.symtab.linetable().line(first.line) or ()} - {position.pc}
    for row in sorted(same):
        address = _first_in(block, row) if gdb.find_pc_line(row).line == first.line else None
        if address is None or address == position.pc:
            continue
        if reached is None:
            reached = _reached(outer, {position.pc, *copies})
        if address in reached:
            copies.append(address)
            reached = None
    return copies


def _first_in(block: gdb.Block, row: int) -> int | None:
    """The first instruction of a function in the run of one line that begins at ``row``, which may begin in another."""
    last = gdb.find_pc_line(row).last
    if last is None or row >= block.end or last < block.start:
        return None
    for one in gdb.selected_inferior().architecture().disassemble(row, last):
        if _is_in(one["addr"], block):
            return int(one["addr"])
    return None


def is_moved(address: int, block: gdb.Block) -> bool:
    """Whether control comes here to a part of an inlined function that the compiler has moved among the code around.

    No statement of the function begins in that part, but some do elsewhere. The line table says where a statement
    begins; its other rows say of which line an instruction is.
    """
    position = gdb.find_pc_line(address)
    if position.symtab is None or _is_in(address - 1, block):
        return False
    table, at = position.symtab.linetable(), address
    while _is_in(at, block):
        position = gdb.find_pc_line(at)
        if position.symtab is None or position.last is None or _begins_statement(at, position):
            return False
        at = position.last + 1
    near = {row.line for row in table if block.start <= row.pc < block.end}
    return any(_is_in(row.pc, block) for line in near for row in table.line(line) or ())


def _begins_statement(address: int, position: gdb.Symtab_and_line) -> bool:
    return any(row.pc == address for row in position.symtab.linetable().line(position.line) or ())


def _is_in(address: int, block: gdb.Block) -> bool:
    """Whether an instruction belongs to the function of a block, or to one that was inlined into it."""
    return any(_is_same(around, block) for around in functions_around(address))


def entry_of(block: gdb.Block) -> int:
    """Where the function of a block is entered: it may have parts at lower addresses, which are seldom run."""
    return int(block.function.value().address)


def outer_function(address: int) -> gdb.Block | None:
    """The block of the function that was not inlined around an address."""
    found = None
    for block in functions_around(address):
        found = block
    return found


def functions_around(address: int) -> Iterator[gdb.Block]:
    """The blocks of the functions around an address, the innermost inlined one first."""
    return _functions(gdb.block_for_pc(address))


def inner_function(address: int) -> gdb.Block | None:
    """The block of the innermost function around an address."""
    return next(functions_around(address), None)


def inlined_at(address: int) -> gdb.Block | None:
    """The outermost inlined function that begins at an address."""
    blocks = list(functions_around(address))
    before = [(one.start, one.end) for one in functions_around(address - 1)]
    found = None
    for block in blocks[:-1]:
        if entry_of(block) != address and (block.start, block.end) in before:
            break
        found = block
    return found


def source_of(address: int, block: gdb.Block | None) -> tuple[str | None, int | None]:
    """File and line of an address as the function of ``block`` has them.

    Of what was inlined there it is the line of the call. At its entry the function may begin with an instruction of a
    header, without a call that is known: then it is the line of the function itself.
    """
    position = gdb.find_pc_line(address)
    file = position.symtab.fullname() if position.symtab is not None else None
    line = position.line or None
    if block is None or block.function is None:
        return file, line
    inner = None
    for one in functions_around(address):
        if _is_same(one, block):
            break
        inner = one
    if inner is not None and inner.function.line:
        return inner.function.symtab.fullname(), inner.function.line
    if is_inlined(block):
        return file, line  # of an inlined function gdb has the line of the call, not its own
    return line_at_entry(address, block.function, file, line)


def line_at_entry(
    address: int, function: gdb.Symbol, file: str | None, line: int | None
) -> tuple[str | None, int | None]:
    """File and line of an address in a function that was not inlined.

    The first instruction of optimised code may be one of a header, without a call that is known. At the entry it is
    the line of the function itself. Behind a call, where code of the C++ library begins in the same way, it is the line
    of the call.
    """
    own = function.symtab.fullname()
    if file is None or file == own:
        return file, line
    # GCC's name of a file, in code that was optimised while linking.
    is_whole = not own.endswith("<artificial>")
    block = outer_function(address)
    if block is not None and entry_of(block) == address:
        return (own, function.line) if function.line and is_whole else (file, line)
    before = gdb.find_pc_line(address - 1) if is_system_source(file) else None
    if before is not None and before.symtab is not None and before.line:
        name = before.symtab.fullname()
        if name == own or not (is_whole or is_system_source(name)):
            return name, before.line
    return file, line


def line_of_cython(address: int, file: str | None, line: int | None) -> tuple[str | None, int | None]:
    """File and line of an address in the author's code of Cython: the next one of the source where that address has one
    of Python's headers, without a call that is known.
    """
    block = inner_function(address)
    if block is None or file is None or not file.endswith(".h"):
        return file, line
    position = gdb.find_pc_line(address)
    for _ in range(_MOST_RUNS):
        if position.last is None or position.last + 1 >= block.end:
            break
        position = gdb.find_pc_line(position.last + 1)
        if position.symtab is not None and position.symtab.filename.endswith((".pyx", ".pxd", ".pxi")):
            return position.symtab.fullname(), position.line or line
    return file, line


def _is_same(one: gdb.Block, other: gdb.Block) -> bool:
    """Whether these are the same block. One inside of another with the same addresses is of another function."""
    return (one.start, one.end, one.function.name) == (other.start, other.end, other.function.name)


def _functions(block: gdb.Block | None) -> Iterator[gdb.Block]:
    """The functions around a block, inlined ones first."""
    while block is not None and block.function is None:
        block = block.superblock
    while block is not None:
        yield block
        block = caller_of(block)


def caller_of(block: gdb.Block) -> gdb.Block | None:
    """The function into which that of a block was inlined; None for one that was not.

    gdb puts a function that is declared within another (that of a lambda, a contained one of Fortran) into the blocks
    of that one, also where that was inlined somewhere else.
    """
    outer = block.superblock
    while outer is not None and outer.function is None:
        outer = outer.superblock
    if outer is None or not (outer.start <= block.start and block.end <= outer.end):
        return None
    return None if _has_symbol(entry_of(block), block.function.linkage_name) else outer


@lru_cache(maxsize=4096)
def _has_symbol(address: int, linkage: str) -> bool:
    """Whether the function of this linkage name, or a part of it that a compiler has made, begins at an address."""
    text = gdb.execute("with print demangle off -- info symbol %#x" % address, to_string=True)
    found = text.partition(" in section ")[0]
    return bool(found == linkage or found.startswith(linkage + "."))


def _forget_symbols(event: Any) -> None:
    """Another file may be mapped at the addresses now."""
    _has_symbol.cache_clear()


for _name in ("new_objfile", "free_objfile", "clear_objfiles"):
    if hasattr(gdb.events, _name):  # the second is gdb's from version 13 on
        getattr(gdb.events, _name).connect(_forget_symbols)


def is_inlined(block: gdb.Block) -> bool:
    """Whether the function of a block was inlined into another there."""
    return caller_of(block) is not None


def function_named(name: str, address: int) -> gdb.Block | None:
    """The innermost function around an address that has this name."""
    last = _last_identifier(name)
    for block in functions_around(address):
        if _last_identifier(block.function.name) == last:
            return block
    return None


def _last_identifier(name: str) -> str:
    """``f`` of ``ns::S<int>::f<long>(int) const``; ``operator()`` and other operators as they are."""
    operator = re.search(r"\boperator\s*(?:\(\)|[^\w\s(]+|\w.*?)(?=\(|$)", name)
    if operator:
        return operator.group().replace(" ", "")
    depth, kept = 0, ""
    for character in name:
        if character in "<([":
            if character == "(" and depth == 0 and kept and not kept.endswith("::"):
                break
            depth += 1
        elif character in ">)]":
            depth -= 1
        elif depth == 0:
            kept += character
    return kept.rpartition("::")[2].strip()


# -- whether a place is on every way, and passed once ---------------------------------------------


def _is_passed_once(start: int, place: int, end: int, producer: str | None) -> bool:
    optimized = _is_optimized(producer)
    if optimized or not _is_on_every_way(start, place, end):
        return False
    if optimized is False:
        return True
    # Some compilers do not say how they compiled. What was not inlined, and no loop comes back to, is always right.
    return inlined_at(place) is None and not _comes_back(start, place, end)


def _is_optimized(producer: str | None) -> bool | None:
    """Whether the compiler optimised, by its options in debug info (GCC writes them); None where it does not say."""
    if producer is None or not producer.startswith("GNU ") or " -" not in producer:
        return None
    levels = _OPTIMIZED.findall(producer)
    return bool(levels) and levels[-1] != "0"


def _is_on_every_way(start: int, place: int, end: int) -> bool:
    """Whether each way from ``start`` out of the function [start, end) passes ``place``."""
    code = control_flow.Code()
    for count, address in enumerate(control_flow.reached([start], code.following, {place}), 1):
        flow = code.flow(address) if start <= address < end and count <= _MOST_INSTRUCTIONS else None
        if flow is None or not flow.is_known:
            return False
    return True


def _reached(function: gdb.Block, without: set[int]) -> set[int]:
    """The instructions of a function to which a way leads that passes none of those in ``without``."""
    code = control_flow.Code()

    def following(address: int) -> list[int]:
        return [one for one in code.following(address) if function.start <= one < function.end]

    return set(islice(control_flow.reached([entry_of(function)], following, without), _MOST_OF_FUNCTION))


def _comes_back(start: int, place: int, end: int) -> bool:
    """Whether a jump from behind ``place`` leads to it, or before it."""
    try:
        flows = control_flow.flows(place, end)
    except gdb.error:
        return True
    return any(start < target <= place for flow in flows.values() for target in flow.addresses)
