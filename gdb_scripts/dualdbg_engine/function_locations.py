"""Where a breakpoint on a function belongs: behind its prologue or at its entry, and wherever it was inlined.

A place must be on every way through the function, and be passed once a call.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, Iterator, NamedTuple, Sequence

import gdb
from dualdbg_shared.producers import is_optimized
from dualdbg_shared.requests.code import FindFunctionBody, FindFunctionInstances, FunctionAddress
from dualdbg_shared.toolchains.cython import is_cython_authors

from . import control_flow
from .blocks import (
    caller_of,
    entry_of,
    function_named,
    inlined_at,
    inlined_in,
    inner_function,
    is_inlined,
    is_same,
    is_same_function,
    lines_of_function,
    outer_function,
    shown_function,
    symbol_at,
)
from .copies import copies_of_beginning, first_reached_from
from .function_code import Lines
from .instance_entries import Entries, entries, is_marked_in_others
from .registry import answers
from .source_lines import source_of
from .stack_protector import behind_guard


class Instance(NamedTuple):
    """A function that was inlined, or one that was not: where its code begins, its block, and gdb's place for it."""

    address: int
    block: gdb.Block
    place: int


def without_parts(instances: "list[Instance]") -> "Iterator[Instance]":
    """The instances of a function without those that are parts.

    A part is passed behind the beginning of its function. Where that has left no code, it stands for the function.
    """
    for one in instances:
        around = caller_of(one.block)
        if around is None or not _is_part(one.block, around, instances):
            yield one
        elif entry_of(around) == one.address:
            yield one._replace(block=around)


def _is_part(block: gdb.Block, around: gdb.Block, instances: "list[Instance]") -> bool:
    """Whether the function of a block is a part of the one ``around`` it, and no recursion, which the source calls."""
    if not is_same_function(around, block):
        return False
    line, file = block.function.line, block.function.symtab.fullname()  # those of the call
    declared = {one.block.function.line for one in instances if not is_inlined(one.block)}
    if is_cython_authors(block.function.name):  # what ends a function is on its first line too
        return line in declared
    own = {at for one in instances if is_inlined(one.block) for at in _own_lines(one, file)}
    return line not in own and (line in declared if declared else line < min(own, default=0))


def _own_lines(instance: Instance, file: str) -> "set[int]":
    """The lines of a file in an inlined function, without those of what was inlined there."""
    outer = outer_function(instance.address)
    addresses = [instance.address, *(lines_of_function(outer) if outer is not None else ())]
    positions = [gdb.find_pc_line(one) for one in addresses if is_same(inner_function(one), instance.block)]
    own = [one for one in positions if one.symtab is not None and one.symtab.fullname() == file]
    return {one.line for one in own if one.line}


# gdb 18 has no names of what was inlined while linking. To look for them in 10,000 functions takes half a minute.
_LACKS_NAMES = int(gdb.VERSION.partition(".")[0]) >= 18
_MOST_CHECKED = 200  # instances of a function, at some milliseconds each
_MOST_CODE = 100_000  # bytes of the function around, which take a second
_MOST_INSTRUCTIONS = 500  # of a prologue: one with an address sanitizer's code has about a hundred
_THUNK = " thunk to "  # in the demangled names of those that adjust `this`, or what is returned
_VARIANT = re.compile(r"(?<=[CD])\d(?=E)")
_SIGNS = {gdb.TYPE_CODE_PTR: "*", gdb.TYPE_CODE_REF: "&", gdb.TYPE_CODE_RVALUE_REF: "&&"}


@answers(FindFunctionBody)
def function_body(address: int) -> FunctionAddress:
    """Where a breakpoint on the function that begins at ``address`` belongs, its source line, and whether code of
    other functions was inlined just there.

    It is behind the prologue where arguments can be read there alone, which is in code that was not optimised: as
    gdb has it (find_function_start_sal), or behind the code of a stack protector. Everywhere else it is the entry: the
    second line of optimised code may lie behind a branch, or in a loop.
    """
    position = gdb.find_pc_line(address)
    if position.symtab is None:
        return FunctionAddress(address)
    block = outer_function(address)
    place = address
    if block is not None and entry_of(block) == address and position.last is not None:
        body = position.last + 1
        if address < body < block.end and _is_passed_once(address, body, block.end, position.symtab.producer):
            place = behind_guard(body)
    file, line = source_of(place, block)
    inner = shown_function(place)
    hides = block is not None and inner is not None and not is_same(inner, block)
    return FunctionAddress(place, file, line, hides)


@answers(FindFunctionInstances)
def function_instances(
    names: Sequence[str],
    expand: Sequence[str],
    read: Sequence[int],
    at: Sequence[int] = (),
    linked_whole: Sequence[int] = (),
) -> list[FunctionAddress]:
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
        decoded(name)
    for name in names:
        instances = [Instance(*one, at.pc) for at in decoded(name) for one in _instances_at(at.pc, name)]
        if _LACKS_NAMES and not any(is_inlined(block) for _, block, _ in instances):
            functions = [block for block in map(outer_function, linked_whole) if block is not None]
            instances += [Instance(*one, one[0]) for block in functions for one in inlined_in(block, name)]
        is_checked = len(instances) <= _MOST_CHECKED
        begins: "set[Any]" = set()
        of_name = []
        for address, block, place in without_parts(instances):
            caller = caller_of(block)
            called = {
                "function": block.function.print_name,
                "linkage": block.function.linkage_name,
                "inlined_in": caller.function.print_name if caller is not None else None,
                "parameters": _parameters(block),
            }
            if caller is None:
                found = [function_body(address)._asdict()]
            else:
                found, lines = _entries(address, block, is_checked)
                begins |= lines
            of_name += found
            for row in found:
                row.update(called)
                rows[row["address"], row["function"], row["inlined_in"]] = row
            for row in _in_code_without_functions(address if is_inlined(block) else place, block):
                row.update(function=called["function"], linkage=called["linkage"])
                rows.setdefault((row["address"], row["function"], row["inlined_in"]), row)
        if begins and is_marked_in_others(frozenset(begins), [row["address"] for row in of_name]):
            for row in of_name:
                row["is_sure"] = False
    return [FunctionAddress(**row) for row in rows.values()]


def _instances_at(address: int, name: str) -> list[tuple[int, gdb.Block]]:
    """The function of this name that begins at an address by gdb, and where its code begins.

    The compiler may have moved all of an inlined one away from the address that it gives as its entry: then it is
    looked for in the function around.
    """
    block, outer = function_named(name, address), outer_function(address)
    if block is not None:
        return [(address if is_inlined(block) else entry_of(block), block)]
    return list(inlined_in(outer, name)) if outer is not None else []


def _parameters(block: gdb.Block) -> list[str]:
    """The parameters of a function, as they are declared and without typedefs.

    gdb's name of a function has none where nothing outside its file can call it.
    """
    kinds = [one.type for one in block if one.is_argument and one.name != "this"]
    return [f"({', '.join(_spelled(kind, plain) for kind in kinds)})" for plain in (False, True)]


def _spelled(kind: gdb.Type, plain: bool) -> str:
    """The name of a type, without typedefs if ``plain``. gdb's own text of a class is its whole definition."""
    if plain:
        kind = kind.strip_typedefs()
    if kind.name is None and kind.code in _SIGNS:
        return _spelled(kind.target(), plain) + _SIGNS[kind.code]
    qualifier = " const" if kind.name is not None and kind != kind.unqualified() else ""
    return (kind.name or str(kind)) + qualifier


def decoded(name: str) -> Sequence[gdb.Symtab_and_line]:
    """Where gdb has the functions of a name; nowhere, where it knows none."""
    try:
        return gdb.decode_line(name)[1] or ()
    except gdb.error:  # it has no such function
        return ()


def _entries(address: int, block: gdb.Block, is_checked: bool) -> tuple[list[dict[str, Any]], Lines]:
    """Where an inlined function is entered: where it begins, and where the compiler has copied its beginning; and the
    lines with which it begins, as far as known.

    ``is_checked``: the places are held against the code around.
    """
    rows = []
    found = Entries([address, *copies_of_beginning(address, block)], False)
    outer = outer_function(address)
    if is_checked and outer is not None and outer.end - outer.start <= _MOST_CODE:
        found = entries(block, found.places)
    for address in found.places:
        file, line = source_of(address, block)
        inner = shown_function(address)
        hides = inner is not None and not is_same(inner, block)
        rows.append(
            {"address": address, "file": file, "line": line, "hides": hides, "is_sure": found.is_sure}
        )
    return rows, found.begins


def _in_code_without_functions(begins: int, block: gdb.Block) -> list[dict[str, Any]]:
    """Where a function begins that was inlined into code of which debug info has lines and no functions: by its
    lines. GCC writes so of thunks of lambdas that it optimises while linking, and of each thunk of a virtual function:
    that is no place where one that leads to the function itself, or is named after another one.
    """
    inner, first = inner_function(begins), gdb.find_pc_line(begins)
    if inner is None or not is_same(inner, block) or first.symtab is None:
        return []
    around: dict[int, tuple[str, set[int]]] = {}
    # A thunk may have the line on which the function is declared.
    for line in dict.fromkeys([first.line, block.function.line]):
        for row in first.symtab.linetable().line(line) or ():
            start, name = symbol_at(row.pc) if inner_function(row.pc) is None else (0, "")
            if name and (line == first.line or _THUNK in name):
                around.setdefault(start, (name, set()))[1].add(row.pc)
    place = {"file": first.symtab.fullname(), "line": first.line, "hides": False}
    return [
        {**place, "address": address, "inlined_in": name}
        for start, (name, places) in around.items()
        if name.partition(_THUNK)[2] in ("", block.function.print_name) and not _leads_to(block, start)
        for address in first_reached_from(start, _is_in_none, places)
    ]


def _without_variant(linkage: str) -> str:
    """A compiler makes several functions of one destructor: ``D1`` of a whole object, ``D0`` deletes it too."""
    return _VARIANT.sub("", linkage)


def _is_in_none(address: int) -> bool:
    return inner_function(address) is None


def _leads_to(block: gdb.Block, start: int) -> bool:
    """Whether a thunk that begins at ``start`` leads to the function of a block, perhaps by another thunk."""
    code, shown = control_flow.Code(), block.function.print_name
    linked = _without_variant(block.function.linkage_name)

    def is_entry(target: int) -> bool:
        outer = outer_function(target)
        if outer is not None:
            return is_same_function(outer, block) or outer.function.print_name == shown
        name, at, _ = symbol_at(target)[1].partition("@plt")
        return bool(at) and (name == shown or _without_variant(name) == linked)

    def following(address: int) -> "list[int]":
        return [one for one in code.following(address) if _is_in_none(one) or _THUNK in symbol_at(one)[1]]

    for address in islice(control_flow.reached([start], following), _MOST_INSTRUCTIONS):
        flow = code.flow(address)
        if flow is None:
            continue
        if _without_variant(flow.calls or "") == linked or any(map(is_entry, flow.addresses)):
            return True
    return False


def _is_passed_once(start: int, place: int, end: int, producer: str | None) -> bool:
    optimized = is_optimized(producer)
    if optimized or not _is_on_every_way(start, place, end):
        return False
    if optimized is False:
        return True
    # Some compilers do not say how they compiled. What was not inlined, and no loop comes back to, is always right.
    return inlined_at(place) is None and not _comes_back(start, place, end)


def _is_on_every_way(start: int, place: int, end: int) -> bool:
    """Whether each way from ``start`` out of the function [start, end) passes ``place``."""
    code = control_flow.Code()
    for count, address in enumerate(control_flow.reached([start], code.following, {place}), 1):
        flow = code.flow(address) if start <= address < end and count <= _MOST_INSTRUCTIONS else None
        if flow is None or not flow.is_known:
            return False
    return True


def _comes_back(start: int, place: int, end: int) -> bool:
    """Whether a jump from behind ``place`` leads to it, or before it."""
    try:
        flows = control_flow.flows(place, end)
    except gdb.error:
        return True
    return any(start < target <= place for flow in flows.values() for target in flow.addresses)
