"""Runs in a gdb of its own, without dualdbg: prints where gdb itself puts breakpoints, as JSON.

The environment has in CORPUS_ASKED the specs, and the files all of whose lines are asked for.
"""

import json
import os
import re

import gdb


def places(spec):
    """The addresses of a breakpoint on ``spec``."""
    point = gdb.Breakpoint(spec)
    text = gdb.execute(f"info breakpoints {point.number}", to_string=True)
    point.delete()
    return sorted({int(found, 16) for found in re.findall(r"\b0x[0-9a-f]{16}\b", text)})


def lines_of(file):
    """The numbers of the lines of a file that have code."""
    found = set()
    for start in range(1, 200):  # gdb 14 and later do not go from a line without code to one in a function
        try:
            _, positions = gdb.decode_line(f"{file}:{start}")
        except gdb.error:
            continue
        tables = [position.symtab for position in positions or () if position.symtab is not None]
        found.update(line for table in tables for line in table.linetable().source_lines())
    return sorted(found - {0})


asked = json.loads(os.environ["CORPUS_ASKED"])
gdb.execute("set breakpoint pending on")
answer = {spec: places(spec) for spec in asked["specs"]}
for name in asked["files"]:
    behind = []
    for line in reversed(lines_of(name)):  # and those that it refuses: earlier ones take the next line
        behind = answer[f"{name}:{line}"] = places(f"{name}:{line}") or behind
print("oracle:" + json.dumps(answer))
