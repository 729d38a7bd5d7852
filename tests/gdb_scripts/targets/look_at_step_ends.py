"""Runs in gdb: whether a result is read at a watchpoint or at a breakpoint, beside the end of a step; hits of it."""

import json
import os
import sys

import gdb

sys.path.insert(0, os.environ["DUALDBG_TEST_SCRIPTS"])
from dualdbg_engine import breakpoints, returned, step_ends
from dualdbg_shared.requests.breakpoints import WantedResult

gdb.execute("break deeper")
gdb.execute("run")
answer = {}
for case in ("alone", "with the user's"):
    if case != "alone":
        gdb.execute("watch sink")
    frame = gdb.newest_frame()
    ends, notes = (
        [one.pc(), int(one.read_register("sp")) & step_ends.WORD]
        for one in (frame.older().older(), frame.older())
    )
    numbers = step_ends.insert_step_ends(1, [ends], [], [], WantedResult(*notes))
    (note,) = numbers[-1]
    kind = next(one.type for one in gdb.breakpoints() if one.number == note)
    gdb.execute("disable 1")
    gdb.execute("delete 2") if case != "alone" else None
    gdb.execute("continue")
    answer[case] = [
        kind == gdb.BP_ACCESS_WATCHPOINT,
        gdb.newest_frame().name(),
        returned.step_result().value,
    ]
    breakpoints.delete_breakpoints([one for some in numbers for one in some])
    gdb.execute("enable 1")
    gdb.execute("continue")
print("answer: " + json.dumps(answer))
