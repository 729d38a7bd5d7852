"""Runs in gdb: what each function of a program returns, as a step that leaves it reads that."""

import json
import os
import sys

import gdb

sys.path.insert(0, os.environ["DUALDBG_TEST_SCRIPTS"])
from dualdbg_engine import breakpoints, returned, step_ends, values
from dualdbg_shared.requests.breakpoints import WantedResult

kinds = json.loads(os.environ["DUALDBG_TEST_KINDS"])  # None: debug info has it
gdb.execute("break main")
gdb.execute("run")
found = []
code = [line for line in gdb.execute("disassemble main", to_string=True).splitlines() if "<+" in line]
first, last = (int(line.replace("=>", "").split()[0], 16) for line in (code[0], code[-1]))
for number, kind in enumerate(kinds):
    entry = int(gdb.parse_and_eval(f"(long)&probe_{number}"))
    gdb.execute(f"tbreak *{entry}")
    gdb.execute("continue")
    assert gdb.selected_frame().pc() == entry, gdb.selected_frame().name()
    place = step_ends.caller_at_entry(1)
    numbers = step_ends.insert_step_ends(
        1, [], [], [], WantedResult(place.pc, place.sp, kind, True, (entry, first, last + 4))
    )
    gdb.execute("tbreak between")
    gdb.execute("continue")
    row = returned.step_result()
    # The program has the same value in a variable, for gdb's own eyes.
    want = None
    if kind is None:
        want = values.shown_text(gdb.parse_and_eval(f"want_{number}"))
    found.append((row and (row.type, row.value), want))
    breakpoints.delete_breakpoints([one for some in numbers for one in some])
print("answer: " + json.dumps(found))
