"""Runs in gdb: the arguments of each function of a program without debug info, at its entry."""

import json
import os
import sys

import gdb

sys.path.insert(0, os.environ["DUALDBG_TEST_SCRIPTS"])
from dualdbg_engine import passed
from dualdbg_shared.requests.arguments import Passing

gdb.execute("break main")
gdb.execute("run")
found = []
for number, (parameters, hidden, member) in enumerate(json.loads(os.environ["DUALDBG_TEST_FUNCTIONS"])):
    entry = int(gdb.parse_and_eval(f"(long)&probe_{number}"))
    gdb.execute(f"tbreak *{entry}")
    gdb.execute("continue")
    assert gdb.selected_frame().pc() == entry, gdb.selected_frame().name()
    what = Passing(parameters, hidden, member)
    rows = passed.passed_arguments(1, 0, entry, what)
    outer = passed.passed_arguments(1, 1, entry, what)
    assert all(row.value == "<not known any more>" for row in outer), outer
    found.append([(row.name, row.value) for row in rows])
print("answer: " + json.dumps(found))
