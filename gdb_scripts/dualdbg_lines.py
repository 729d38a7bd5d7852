"""Runs in a gdb without a process: file and line of code addresses, the calls that were inlined there included.

Standard input has one line of JSON: ``[[file, [address, ...]], ...]``, with link-time addresses. For each file a line
is written to standard output when it is done: ``dualdbg-lines {"address": [[function, file, line], ...], ...}``,
innermost first; the last is the function that the code belongs to.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any, Dict, List

import gdb

sys.path.insert(0, str(Path(__file__).resolve().parent))
from dualdbg_engine import blocks

APART = 1 << 40  # bytes between two files, which are all linked for the same addresses
MEMORY = 8 << 30  # bytes of address space: debug info that needs more is not read


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it would lie in the user's folder
    gdb.execute("set confirm off")
    for number, (path, addresses) in enumerate(json.loads(sys.stdin.readline())):
        offset = (number + 1) * APART
        quoted = path.replace("\\", "\\\\").replace('"', '\\"')
        try:
            gdb.execute(f'add-symbol-file "{quoted}" -o {offset:#x}', to_string=True)
        except gdb.error as error:
            tell({"error": str(error)})
            continue
        tell({str(address): chain(address + offset) for address in addresses})


def tell(answer: Dict[str, Any]) -> None:
    os.write(1, b"\ndualdbg-lines " + json.dumps(answer).encode() + b"\n")


def chain(address: int) -> List[List[Any]]:
    """``[function, file, line]`` of the code at ``address`` and of the calls that it is inlined in."""
    place = gdb.find_pc_line(address)
    if place.symtab is None or not place.line:
        return []
    file, line, found = place.symtab.fullname(), line_in(place, address), []
    for block in blocks.functions_shown(address):
        function = block.function
        # gdb spells implementations and closures of Rust as debug info numbers them; the linkage name has their types.
        found.append([function.linkage_name if file.endswith(".rs") else function.print_name, file, line])
        # An inlined function's symbol has the place of the call (gdb, new_symbol in dwarf2/read.c).
        file = function.symtab.fullname() if function.symtab is not None else file
        line = function.line
    return found or [[None, file, line]]


def line_in(place: gdb.Symtab_and_line, address: int) -> int:
    """The line of an address as gdb has it for a frame there.

    Several lines may begin at one instruction. Of those gdb takes the last that begins a statement; gdb 18 takes the
    last of all where the frame stands behind that instruction's beginning, as one that has called does.
    """
    if int(gdb.VERSION.partition(".")[0]) >= 18 and address > place.pc:
        lines = [row.line for row in place.symtab.linetable() if row.pc == place.pc and row.line]
        return int(lines[-1] if lines else place.line)
    return int(place.line)


main()
