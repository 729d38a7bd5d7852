"""Where functions and lines begin in the symbols that gdb has read; and the reading of all symbols of a library."""

from __future__ import annotations

import os
import re
from typing import Any

import gdb


def function_body(address: int) -> dict[str, Any]:
    """Where the body of the function at ``address`` begins, as debug info has it.

    The second line entry of a function is where its prologue ends: the rule of gdb's own
    skip_prologue_using_sal. Without line entries it is the function's first instruction.
    """
    position = gdb.find_pc_line(address)
    table = position.symtab
    if table is None:
        return {"address": address, "file": None, "line": None}
    block = _function_block(address)
    end = block.end if block is not None else address + 1
    starts = sorted({entry.pc for entry in table.linetable() if address < entry.pc < end})
    body = starts[0] if starts else address
    return {"address": body, "file": table.fullname(), "line": gdb.find_pc_line(body).line}


def function_bodies(addresses: list[int]) -> list[int]:
    """:func:`function_body` of each, addresses only."""
    return [function_body(address)["address"] for address in addresses]


def line_locations(file: str, line: int) -> list[dict[str, Any]]:
    """Every address at which ``file:line`` begins, in the symbols that gdb has read; may be empty.

    On the first line of a function it is the address behind the prologue, where arguments can be read, as in gdb.
    """
    try:
        _, positions = gdb.decode_line("%s:%d" % (quoted(file), line))
    except gdb.error:
        return []
    rows = []
    for position in positions or ():
        if position.symtab is None or not position.pc:
            continue
        block = _function_block(position.pc)
        place = {"address": position.pc, "line": position.line}
        outer = block.superblock if block is not None and block.start == position.pc else None
        if outer is not None and outer.is_static:
            place = function_body(position.pc)
        function = block.function if block is not None else None
        rows.append(
            {
                "address": place["address"],
                "file": position.symtab.fullname(),
                "line": place["line"] or position.line,
                "function": function.print_name if function is not None else None,
            }
        )
    return rows


def _function_block(address: int) -> gdb.Block | None:
    block = gdb.block_for_pc(address)
    while block is not None and block.function is None:
        block = block.superblock
    return block


def quoted(file: str) -> str:
    """A file as gdb takes it before a line."""
    return '"%s"' % file if any(character in file for character in " :,") else file


def load_library(path: str) -> None:
    """Read the whole symbols of one library of the process; ``path`` as the kernel names it, links resolved."""
    listed = gdb.execute("info sharedlibrary", to_string=True)
    names = [line[line.index("/") :] for line in listed.splitlines()[1:] if "/" in line]
    if path not in names:  # the dynamic linker names it by a link
        names = [name for name in names if os.path.realpath(name) == path] or [path]
        path = names[0]
    gdb.execute("sharedlibrary ^" + re.escape(path) + "$", to_string=True)
