"""Runs in gdb, without a process: which lines of the author's the instructions of a header are shown with."""

import json
import os
import sys

import gdb

sys.path.insert(0, os.environ["DUALDBG_TEST_SCRIPTS"])
from dualdbg_engine import blocks, cython_lines

begin = int(gdb.lookup_global_symbol("__pyx_pf_1m_f").value().address)
shown = []
for address in blocks.lines_of_function(blocks.outer_function(begin)):
    position = gdb.find_pc_line(address)
    file = position.symtab.fullname()
    if file.endswith("object.h"):
        shown.append([position.line, cython_lines.line_of_cython(address, file, position.line)[1]])
print("answer: " + json.dumps(shown))
