"""Runs in gdb: what is kept for breakpoints of the session while they are there, and when they are gone."""

import json
import os
import sys

import gdb

sys.path.insert(0, os.environ["DUALDBG_TEST_SCRIPTS"])
from dualdbg_engine import breakpoints, deletions, function_locations, threads, watchpoints


def kept():
    variables = [gdb.convenience_variable(f"dualdbg_watched_{number}") for number in range(3)]
    return [
        sum(len(points) for points in threads._shown_at.values()),
        [variable is not None for variable in variables],
        len(deletions._with),
    ]


gdb.execute("break outer")
gdb.execute("run")
(place,) = function_locations.function_instances(["inner"], [], [], [])
at, around = place.address, int(gdb.parse_and_eval("(long)&outer"))
stack = int(gdb.parse_and_eval("(long)$sp"))
numbers = [
    breakpoints.insert_at_function(at, "inner"),
    breakpoints.insert_log_point(at, ["x"], [], None, 0, True, "inner"),
    breakpoints.insert_at_function(around, None),
    watchpoints.insert_watchpoint(stack, 8, "write"),
    watchpoints.insert_watchpoint(stack + 8, 8, "write"),
]
said = [kept()]
breakpoints.delete_breakpoints([numbers[0], numbers[2], numbers[3]])
gdb.execute("stepi")  # until then a thread that stands at one of them is shown as before
said.append(kept())
numbers.append(watchpoints.insert_watchpoint(stack, 8, "write"))
said.append(kept())
gdb.execute("delete")
gdb.execute("stepi")
said.append(kept())
print("answer: " + json.dumps(said))
