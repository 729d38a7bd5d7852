"""Runs inside gdb: prints name, file, line, whether it is inlined, and the library of each frame, as a line of JSON."""

import json

import gdb

rows = []
frame = gdb.newest_frame()
while frame is not None:
    place = frame.find_sal()
    rows.append(
        [
            frame.name() or "",
            place.symtab.fullname() if place.symtab else None,
            place.line or None,
            frame.type() == gdb.INLINE_FRAME,
            gdb.solib_name(frame.pc()),
        ]
    )
    try:
        frame = frame.older()
    except gdb.error:
        break
print("lines: " + json.dumps(rows))
