"""Runs in gdb, without a process: what the blocks of the function of mixed_blocks.s are."""

import json
import os
import sys

import gdb

sys.path.insert(0, os.environ["DUALDBG_TEST_SCRIPTS"])
from dualdbg_engine import blocks

begin = int(gdb.lookup_global_symbol("outer").value().address)
outer = blocks.outer_function(begin)
rows = gdb.selected_inferior().architecture().disassemble(begin, outer.end - 1)
found = {
    "lines": [address - begin for address in blocks.lines_of_function(outer)],
    "inlined": {
        name: [address - begin for address, _ in blocks.inlined_in(outer, name)]
        for name in ("helper", "empty")
    },
    "functions": [
        [row["addr"] - begin, *(one.function.name for one in blocks.functions_around(row["addr"]))]
        for row in rows
    ],
}
print("answer: " + json.dumps(found))
