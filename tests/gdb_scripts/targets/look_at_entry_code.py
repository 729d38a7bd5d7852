"""Runs in gdb: what the code of functions of a library tells of how they are called. The library does not run."""

import json
import os
import sys

import gdb

sys.path.insert(0, os.environ["DUALDBG_TEST_SCRIPTS"])
from pathlib import Path

from dualdbg_engine import passed
from dualdbg_helpers import placing
from dualdbg_shared.requests.arguments import EntryCode

rows = json.loads(Path(os.environ["DUALDBG_TEST_FUNCTIONS"]).read_text())
found = []
for row in rows:
    try:
        code = passed.entry_code([row["part"]], row["pads"])
    except gdb.error:  # data between the instructions
        code = EntryCode(None, False)
    what = dict(row["by_name"], evidence=code.evidence)
    if code.not_hidden:
        what["hidden"] = False
    by_name = placing.passing(what)
    readings = placing.readings(by_name)
    known = placing.passing(row["known"])
    right = placing.places(known, placing.readings(known))
    found.append(
        {
            "not_hidden": code.not_hidden,
            "readings": len(readings),
            "hidden": sorted({one.hidden for one in readings}),
            "member": sorted({one.member for one in readings}),
            "places": [repr(one) if one is not None else None for one in placing.places(by_name, readings)],
            "right": [repr(one) if one is not None else None for one in right],
        }
    )
print("answer: " + json.dumps(found))
