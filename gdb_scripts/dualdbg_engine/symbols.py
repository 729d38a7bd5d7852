"""Where lines begin in the symbols that gdb has read; and the reading of all symbols of a library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Sequence

import gdb
from dualdbg_shared.producers import is_optimized
from dualdbg_shared.requests.code import (
    CodeAddress,
    FindFunctionBodies,
    FindLineLocations,
    FindLinesOfSource,
    LibraryOfProcess,
    LoadLibrary,
    ReadWhole,
)

from .blocks import entry_of, inner_function, is_same, outer_function
from .control_flow import reached
from .copies import copies_of_line, ends_of_scope
from .function_code import Code, Instance, Line, code_of
from .function_locations import function_body
from .inlined_calls import inlined_calls, parts_of_line
from .instance_entries import Ways
from .registry import answers
from .threads import hides_inlined

_MOST_FUNCTIONS = 100  # that have the line, at some milliseconds each
_NEAR = 12  # instructions between the place of a line and the first one that is its own


def is_certain(table: gdb.Symtab, line: int, places: "set[int]") -> bool:
    """Whether each time that control comes to a line of this file it passes one of the places, as far as code and
    marks of statements tell. Where that is too much to look at it is not certain.

    An optimiser mixes the line with others in one of the instances of its function, or copies it when it unrolls a
    loop.
    """
    if is_optimized(table.producer) is False:
        return True
    functions: "dict[int, gdb.Block]" = {}
    for row in table.linetable():
        block = outer_function(row.pc) if row.line == line else None
        if block is not None:
            functions[entry_of(block)] = block
    if len(functions) > _MOST_FUNCTIONS:
        return False
    at = table.fullname(), line
    found = (code_of(one) for one in functions.values())
    return all(code is not None and _is_certain_in(code, at, places) for code in found)


def _is_certain_in(code: Code, line: Line, places: "set[int]") -> bool:
    instances: "dict[Instance, set[int]]" = {}
    begin = code.begin[:1]  # handlers of exceptions end what they interrupt, on its lines
    for at in reached(begin, code.following.__getitem__):
        for instance, of_instance in code.frames[at].items():
            if of_instance == line:
                instances.setdefault(instance, set()).add(at)
    inside = places.intersection(code.following)
    for instance, own in instances.items():
        here = {one for one in inside if instance in code.frames[one] or _leads_to(code, one, own)}
        calls, _ = Ways.of(code, own).calls({line})
        missed: "set[int]" = set(reached(begin, code.following.__getitem__, here))
        if not here or not missed.isdisjoint(calls - here):
            return False
        if any(
            one in set(reached(code.following[one], code.following.__getitem__, here)) for one in calls - here
        ):
            return False
    return True


def _leads_to(code: Code, at: int, own: "set[int]") -> bool:
    """Whether an instruction is of a line, or the next one is of which the compiler has moved others in front."""
    for _ in range(_NEAR):
        after = code.following[at]
        if at in own or len(after) != 1:
            break
        at = after[0]
    return at in own


_AHEAD = 500  # lines behind one without code in which the next one with code is looked for
# Files that are compiled themselves; others are included.
_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".cu")


@answers(FindFunctionBodies)
def function_bodies(addresses: Sequence[int]) -> list[int]:
    return [function_body(address).address for address in addresses]


@answers(FindLinesOfSource)
def lines_of_source(address: int) -> list[int]:
    block = outer_function(address)
    if block is None or block.function.symtab is None or not block.function.line:
        return []
    # The symtab of a symbol may be without lines: gdb 13 does not live through a look at them.
    own = gdb.find_pc_line(block.start).symtab
    file = block.function.symtab.fullname()
    if own is not None and own.fullname() == file and _is_compiled_once(own):
        tables = [own]
    else:
        positions = positions_of_line(file, block.function.line)
        tables = [one.symtab for one in positions if one.symtab is not None]
    return sorted({row.pc for table in tables for row in table.linetable() if row.line})


def _is_compiled_once(table: gdb.Symtab) -> bool:
    """Whether all code of a source is in the compilation unit of this table: not so for a header, of which every unit
    may have some, nor after optimisation while linking, which makes units of its own.

    gdb needs 12 ms to look for a source among those of all libraries.
    """
    return table.filename.endswith(_SOURCES) and not (table.producer or "GNU GIMPLE").startswith("GNU GIMPLE")


@answers(FindLineLocations)
def line_locations(file: str, line: int) -> list[CodeAddress]:
    """Every address at which ``file:line`` begins, in the symbols that gdb has read; may be empty.

    On the first line of a function it is the place of the function, as in gdb. A line that only calls what was inlined
    is entered where that begins. ``begins`` is the line at which the function of a place is declared. ``is_sure`` is
    False where the line's code is mixed with that of others, and no statement of it begins.
    """
    rows = []
    positions = positions_of_line(file, line)
    at = positions or _before(file, line)  # a header's last lines may begin no statement
    tables = {one.symtab.fullname(): one.symtab for one in at if one.symtab is not None}
    if line and not any(one.line == line for one in positions):
        called = inlined_calls(list(tables.values()), line) or parts_of_line(list(tables.values()), line)
        if called:
            return [CodeAddress(**row) for row in called]
    for position in positions:
        if position.symtab is None or not position.pc:
            continue
        address, found = _where_most_pass(position), position.line
        outer, block = outer_function(address), inner_function(address)
        copies: list[int] = []
        file, hides = position.symtab.fullname(), False
        is_first = outer is not None and _is_declared_at(outer, position)
        if is_first and entry_of(outer) == address:
            block = outer
        if outer is not None and (entry_of(outer) == address or (is_first and is_same(block, outer))):
            place = function_body(entry_of(outer))
            address, found = place.address, place.line or found
            file, hides = place.file or file, is_first and place.hides
        else:
            ends = ends_of_scope(position)
            address, copies = (ends[0], ends[1:]) if ends else (address, copies_of_line(position, address))
        row = {
            "file": file,
            "line": found,
            "function": block.function.print_name if block is not None else None,
            "begins": _declared(outer, block, position.symtab),
            "hides": hides,
        }
        rows += [{**row, "address": one} for one in (address, *copies)]
    places = {row["address"] for row in rows}
    has_line = any(row["line"] == line for row in rows)
    is_sure = not has_line or all(is_certain(table, line, places) for table in tables.values())
    return [CodeAddress(**row, is_sure=is_sure) for row in rows]


def positions_of_line(file: str, line: int) -> Sequence[gdb.Symtab_and_line]:
    """Where gdb has this line, or the next one with code; empty where it has none in such a file.

    gdb 14 and later refuse to go on to the next function (create_sals_line_offset in gdb/linespec.c): they are asked
    for the line that earlier ones would take.
    """
    found = _decoded(file, line)
    if not found and hasattr(gdb, "execute_mi"):
        try:
            gdb.execute_mi("-symbol-list-lines", file)  # of one of the files of this name that gdb has read
        except gdb.error:  # it has none
            return ()
        following = (_decoded(file, number) for number in range(line + 1, line + 1 + _AHEAD))
        found = next((positions for positions in following if positions), ())
    return found


def _before(file: str, line: int) -> Sequence[gdb.Symtab_and_line]:
    """The nearest line with code before this one; empty where it has none in such a file."""
    tables = [one.symtab for one in positions_of_line(file, 1) if one.symtab is not None]
    lines = {number for table in tables for number in table.linetable().source_lines()}
    before = (
        _decoded(file, number) for number in sorted(lines, reverse=True) if line - _AHEAD <= number < line
    )
    return next((positions for positions in before if positions), ())


def _decoded(file: str, line: int) -> Sequence[gdb.Symtab_and_line]:
    try:
        return gdb.decode_line("%s:%d" % (quoted(file), line))[1] or ()
    except gdb.error:
        return ()


def _declared(outer: gdb.Block | None, block: gdb.Block | None, table: gdb.Symtab) -> int | None:
    """The line of this file at which the function of a place is declared. Of an inlined one gdb has the call's."""
    if outer is None or block is None or not is_same(block, outer):
        return None
    here = outer.function.symtab.fullname() == table.fullname()
    return (outer.function.line or None) if here else None


def _is_declared_at(outer: gdb.Block, position: gdb.Symtab_and_line) -> bool:
    """Whether a function that was not inlined is declared at this line."""
    declared = outer.function
    return bool(declared.line == position.line and declared.symtab.fullname() == position.symtab.fullname())


def _where_most_pass(position: gdb.Symtab_and_line) -> int:
    """The address of a line in a function: gdb gives its lowest, which may be in the part that is seldom run.

    Compilers put that part before the others. Where the line has other code in the function, the place is there.
    """
    outer = outer_function(position.pc)
    block = inner_function(position.pc)
    if outer is None or block is None or position.pc >= entry_of(outer):
        return int(position.pc)
    for row in position.symtab.linetable().line(position.line) or ():
        there = inner_function(row.pc)
        if (
            row.pc >= entry_of(outer)
            and there is not None
            and (there.start, there.end) == (block.start, block.end)
        ):
            return int(row.pc)
    return int(position.pc)


def quoted(file: str) -> str:
    """A file as gdb takes it before a line."""
    return '"%s"' % file if any(character in file for character in " :,") else file


def _is_same(first: str, second: str) -> bool:
    try:
        return Path(first).samefile(second)
    except OSError:
        return False


@answers(LoadLibrary)
def load_library(path: str, address: int) -> bool:
    """Read the whole symbols of one library of the process; ``path`` as the process sees it, links resolved, and the
    ``address`` of some of its code.

    False where gdb did not find the file: the process loaded it by a name relative to another folder than gdb's.
    """
    # "info sharedlibrary" ends gdb 18 once the process has loaded a library into a name space of its own (dlmopen).
    name = gdb.solib_name(address)
    root = gdb.parameter("sysroot")
    path = path if root.startswith("target:") else root + path  # where gdb has found it
    # The dynamic linker may name it by a link.
    if name is None or not (name == path or _is_same(name, path)):
        return False
    gdb.execute("sharedlibrary ^" + re.escape(name) + "$", to_string=True)
    return True


@answers(ReadWhole)
def read_whole(libraries: Sequence[LibraryOfProcess]) -> bool:
    """Read all symbols of libraries, in the place of the files with functions and lines that were given for their code.

    Of each its ``path`` and an ``address`` as :func:`load_library` takes them, the ``file`` as gdb can open it, and by
    how many bytes its code lies above its link-time addresses. Those of the code where the selected thread stands are
    read to the end. The selected frame stays.

    False where nothing is read, for gdb hides an inlined function at the beginning of which the selected thread stands.
    Until the thread runs it has a pointer to the symbol of that, and ends where it uses it after it is gone (seen with
    13.1, 15.2 and 16.3).
    """
    frame = gdb.selected_frame() if _is_stopped() else None
    if frame is not None and hides_inlined():
        return False
    level = frame.level() if frame is not None else 0
    for path, address, file, bias in libraries:
        gdb.execute("with language c++ -- remove-symbol-file -a %#x" % address, to_string=True)
        if not load_library(path, address):
            gdb.execute('with language c++ -- add-symbol-file "%s" -o %#x' % (file, bias), to_string=True)
    if frame is not None:
        gdb.execute("frame level %d" % level, to_string=True)
        gdb.find_pc_line(gdb.selected_frame().pc())
    return True


def _is_stopped() -> bool:
    thread = gdb.selected_thread()
    return thread is not None and thread.is_valid() and thread.is_stopped()
