"""Runs in gdb: evaluates what ``containers.cpp`` has printed, without calls, and rows of the session for classes."""

import json
import os
import sys

import gdb

sys.path.insert(0, os.environ["DUALDBG_TEST_SCRIPTS"])
from dualdbg_engine import values
from dualdbg_helpers import expressions


def condition(expression):
    """Whether it is true as a condition, or why it has no value."""
    try:
        return expressions.truth(expression)
    except (gdb.error, gdb.GdbError) as error:
        return str(error)


gdb.execute("set may-call-functions off")
gdb.execute("break look")
gdb.execute("run > " + os.environ["DUALDBG_TEST_SAID"])
wrong, count = [], 0
with open(os.environ["DUALDBG_TEST_SAID"]) as file:
    for line in file:
        expression, told = line.rstrip("\n").split("\t")
        count += 1
        try:
            row = values.evaluate(1, 1, expression)
            shown = row.value.split(" ")[0]
            found = {"true": 1, "false": 0}.get(shown)
            found = int(float(shown)) if found is None else found
        except (gdb.error, gdb.GdbError, ValueError) as error:
            found = str(error)
        if found != int(told):
            wrong.append([expression, found, int(told)])
        elif condition(expression) is not bool(int(told)):
            wrong.append([expression, condition(expression), "as a condition"])


def shown(expression):
    try:
        row = values.evaluate(1, 1, expression)
    except (gdb.error, gdb.GdbError) as error:
        return {"error": str(error), "condition": condition(expression)}
    inside = values.children(row.handle, 0, 20) if row.handle is not None else []
    told = [[one.name, one.type, one.value] for one in inside]
    return dict(row._asdict(), inside=told, condition=condition(expression))


rows = {expression: shown(expression) for expression in os.environ["DUALDBG_TEST_ROWS"].split(";")}
print("answer: " + json.dumps({"count": count, "wrong": wrong, "rows": rows}))
