"""Runs inside gdb: where it would put a breakpoint for each name of DUALDBG_TEST_JOB, a JSON file {names, result}."""

import json
import os
import re

import gdb


def locations(name):
    try:
        breakpoint = gdb.Breakpoint(name, internal=True)
        listing = gdb.execute(f"maint info breakpoints {breakpoint.number}", to_string=True)
    except (gdb.error, RuntimeError):  # a name that gdb does not find
        return []
    breakpoint.delete()
    return [int(address, 16) for address in re.findall(r"0x([0-9a-f]{16})", listing)]


with open(os.environ["DUALDBG_TEST_JOB"]) as job_file:
    job = json.load(job_file)
gdb.execute("set breakpoint pending off")
with open(job["result"], "w") as result_file:
    json.dump({name: locations(name) for name in job["names"]}, result_file)
