"""Runs inside gdb: the first stack at a stop in libtorch_cpu, by one of the ways to prepare gdb for it.

BENCH_JOB is JSON: program and arguments; the library and link-time address to stop at; ``files``, library -> small
file, or null to let gdb read all libraries. Prints one line of JSON.
"""

import json
import os
import time

import gdb

job = json.loads(os.environ["BENCH_JOB"])


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def rows():
    with open(f"/proc/{gdb.selected_inferior().pid}/maps") as file:
        fields = [line.split() for line in file]
    return [row for row in fields if len(row) > 5]


def bias(path):
    return min(int(row[0].split("-")[0], 16) for row in rows() if row[5] == path)


for command in (
    "set pagination off",
    "set confirm off",
    "set debuginfod enabled off",
    "set startup-with-shell off",
    "set auto-solib-add off",
    "set stop-on-solib-events 1",
    "file " + job["program"],
    "set args " + job["arguments"],
    "run",
):
    gdb.execute(command, to_string=True)
while not any(row[5] == job["library"] for row in rows()):
    gdb.execute("continue", to_string=True)
gdb.execute("set stop-on-solib-events 0")
gdb.execute(f"break *{bias(job['library']) + job['vaddr']:#x}", to_string=True)
gdb.execute("continue", to_string=True)

memory, started = resident(), time.perf_counter()
if job["files"] is None:
    gdb.execute("sharedlibrary", to_string=True)
else:
    for library, symbols in job["files"].items():
        gdb.execute(f"add-symbol-file {symbols} -o {bias(library):#x}", to_string=True)
gdb.execute("backtrace", to_string=True)
seconds = time.perf_counter() - started
libraries = sorted({row[5] for row in rows() if row[5].startswith("/") and "x" in row[1]})
print("BENCH " + json.dumps([seconds, resident() - memory, libraries]))
gdb.execute("kill")
