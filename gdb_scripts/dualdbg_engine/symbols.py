"""Where lines begin in the symbols that gdb has read; and the reading of all symbols of a library."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gdb
from dualdbg_shared.console_text import plain

from .blocks import entry_of, inner_function, outer_function
from .copies import copies_of_line
from .function_locations import function_body
from .inlined_calls import inlined_calls, parts_of_line


def function_bodies(addresses: list[int]) -> list[int]:
    """:func:`~function_locations.function_body` of each, addresses only."""
    return [function_body(address)["address"] for address in addresses]


def line_locations(file: str, line: int) -> list[dict[str, Any]]:
    """Every address at which ``file:line`` begins, in the symbols that gdb has read; may be empty.

    On the first line of a function it is the place of the function, as in gdb. A line that only calls what was inlined
    is entered where that begins. ``begins`` is the line at which the function of a place is declared.
    """
    try:
        _, positions = gdb.decode_line("%s:%d" % (quoted(file), line))
    except gdb.error:
        return []
    rows = []
    tables = {one.symtab.fullname(): one.symtab for one in positions or () if one.symtab is not None}
    if line and not any(one.line == line for one in positions or ()):
        called = inlined_calls(list(tables.values()), line) or parts_of_line(list(tables.values()), line)
        if called:
            return called
    for position in positions or ():
        if position.symtab is None or not position.pc:
            continue
        address, found = _where_most_pass(position), position.line
        outer, block = outer_function(address), inner_function(address)
        copies: list[int] = []
        if outer is not None and (entry_of(outer) == address or _is_first_line(outer, block, position)):
            place = function_body(entry_of(outer))
            address, found = place["address"], place["line"] or found
        else:
            copies = copies_of_line(position, address)
        row = {
            "file": position.symtab.fullname(),
            "line": found,
            "function": block.function.print_name if block is not None else None,
            "begins": _declared(outer, block),
        }
        rows += [{**row, "address": one} for one in (address, *copies)]
    return rows


def _declared(outer: gdb.Block | None, block: gdb.Block | None) -> int | None:
    """The line at which the function of a place is declared. Of an inlined one gdb has that of the call."""
    if outer is None or block is None or (block.start, block.end) != (outer.start, outer.end):
        return None
    return outer.function.line or None


def _is_first_line(outer: gdb.Block, block: gdb.Block | None, position: gdb.Symtab_and_line) -> bool:
    """Whether a function that was not inlined is declared at this line."""
    declared = outer.function
    same = block is not None and (block.start, block.end) == (outer.start, outer.end)
    return (
        same and declared.line == position.line and declared.symtab.fullname() == position.symtab.fullname()
    )


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


def load_library(path: str) -> bool:
    """Read the whole symbols of one library of the process; ``path`` as the process sees it, links resolved.

    False where gdb did not find the file: the process loaded it by a name relative to another folder than gdb's.
    """
    root = gdb.parameter("sysroot")
    path = path if root.startswith("target:") else root + path  # where gdb has found it
    names = _library_names()
    if path not in names:  # the dynamic linker names it by a link, or from the working directory
        found = next((name for name in names if _is_same(name, path)), None)
        if found is None:
            return False
        path = found
    gdb.execute("sharedlibrary ^" + re.escape(path) + "$", to_string=True)
    return True


def _library_names() -> list[str]:
    """The libraries of the process by the names under which gdb has them."""
    head, *rows = plain(gdb.execute("info sharedlibrary", to_string=True)).splitlines() or [""]
    column = head.find("Shared Object Library")
    return [row[column:] for row in rows if column > 0 and row[column:]]
