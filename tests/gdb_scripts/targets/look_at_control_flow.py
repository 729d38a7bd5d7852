"""Runs in gdb: where control goes after instructions, of the file that gdb has and of rows that it is given."""

import json
import os
import sys

import gdb

sys.path.insert(0, os.environ["DUALDBG_TEST_SCRIPTS"])
from dualdbg_engine import control_flow


def address_of(name):
    return int(gdb.parse_and_eval("(long)&" + name))


def in_words(flow):
    return ["returns"] * flow.returns + ["indirect"] * flow.indirect + list(flow.addresses)


names = {address_of(name): name for name in os.environ["DUALDBG_TEST_LABELS"].split()}
start, end = address_of("begin"), address_of("end")
found = {}
for address, flow in control_flow.flows(start, end).items():
    goes = [names.get(one, one) if isinstance(one, int) else one for one in in_words(flow)]
    found[names[address]] = goes
code = control_flow.Code()
ways = [names[address] for address in control_flow.reached([start], code.following)]
around = [names[one] for one in control_flow.reached([start], code.following, {address_of("loop_")})]
given = [
    in_words(control_flow.flow(architecture, {"addr": 0x400, "length": 4, "asm": text}))
    for architecture, text in json.loads(os.environ["DUALDBG_TEST_ROWS"])
]
unread = code.flow(0x10)
answer = {"flows": found, "reached": ways, "without": around, "given": given, "unread": unread}
print("answer: " + json.dumps(answer))
