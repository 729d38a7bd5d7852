"""Compiles types of a PyTorch from its headers for a session that goes on meanwhile: run by dualdbg's own Python.

Its argument is a JSON object: ``installation``, ``part``, ``compiler``, ``gdb`` and ``beside`` are what
:class:`dualdbg_helpers.layout.types_object.TypesObject` is made of. Status 0: the layout is kept where that class looks
for it. Status 1: standard output says why not.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from dualdbg_helpers.errors import LayoutMissing
from dualdbg_helpers.layout.installation import Installation
from dualdbg_helpers.layout.types_object import TypesObject

_NICE = 10  # the program and the debugger go first


def main(request: str) -> int:
    os.nice(_NICE)
    wanted = json.loads(request)
    maker = TypesObject(
        Installation(*wanted["installation"]), wanted["compiler"], wanted["gdb"], wanted["beside"]
    )
    try:
        maker.build(wanted["part"])
    except LayoutMissing as error:
        print(error.message)
        return 1
    if maker.cached(wanted["part"]) is None:
        print("what was compiled cannot be kept: there is no room, or no folder for it")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
