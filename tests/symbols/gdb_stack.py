"""Runs inside gdb: stops a program in one function and writes what the stack looks like.

The job is JSON in DUALDBG_TEST_JOB: ``program`` and ``arguments``; ``library`` (path) and ``vaddr`` of the place to
stop at; ``files``, library path -> symbol file for gdb, or null for gdb's own way of reading everything;
``result``, the file to write.
"""

import json
import os

import gdb


def bias_of(path, rows):
    return min(int(row[0].split("-")[0], 16) for row in rows if row[5] == path)


def mapped():
    with open(f"/proc/{gdb.selected_inferior().pid}/maps") as file:
        rows = [line.split() for line in file]
    return [row for row in rows if len(row) > 5 and row[5].startswith("/")]


def place(pc, rows):
    """(library, offset from its first byte)"""
    for row in rows:
        start, end = (int(text, 16) for text in row[0].split("-"))
        if start <= pc < end:
            return [row[5], pc - bias_of(row[5], rows)]
    return [None, pc]


def frames(rows):
    """The frames that are on the stack, not those that debug info adds for inlined and tail calls."""
    found = []
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            found.append(place(frame.pc(), rows))
        frame = frame.older()
    return found


def main():
    with open(os.environ["DUALDBG_TEST_JOB"]) as file:
        job = json.load(file)
    whole = job["files"] is None
    for command in (
        "set pagination off",
        "set confirm off",
        "set debuginfod enabled off",
        "set startup-with-shell off",
        "set auto-solib-add " + ("on" if whole else "off"),
        "set breakpoint pending on",
        "set stop-on-solib-events 1",
    ):
        gdb.execute(command)
    gdb.execute("file " + job["program"])
    gdb.execute("set args " + job["arguments"])
    gdb.execute("run", to_string=True)
    while not any(row[5] == job["library"] for row in mapped()):
        gdb.execute("continue", to_string=True)
    gdb.execute("set stop-on-solib-events 0")
    gdb.execute(f"break *{bias_of(job['library'], mapped()) + job['vaddr']:#x}")
    gdb.execute("continue", to_string=True)
    rows = mapped()
    said = ""
    if not whole:
        before = frames(rows)
        for path, symbols in job["files"].items():
            said += gdb.execute(f"add-symbol-file {symbols} -o {bias_of(path, rows):#x}", to_string=True)
    else:
        before = []
    result = {
        "libraries": sorted({row[5] for row in rows if "x" in row[1]}),
        "before": before,
        "frames": frames(rows),
        "said": said,
    }
    with open(job["result"], "w") as file:
        json.dump(result, file)
    gdb.execute("kill")


main()
