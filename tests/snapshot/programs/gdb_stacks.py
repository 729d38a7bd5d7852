"""Runs inside gdb: prints every thread's physical frames as one line of JSON."""

import json

import gdb

# Inlined and tail-called functions have no frame on the stack: debug info tells of them.
PHYSICAL = (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME)

stacks = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    rows = []
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() in PHYSICAL:
            rows.append([frame.pc(), frame.name() or ""])
        try:
            frame = frame.older()
        except gdb.error:
            break
    stacks[thread.ptid[1]] = rows
print("stacks: " + json.dumps(stacks))
