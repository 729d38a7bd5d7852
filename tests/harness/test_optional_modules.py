"""dualdbg works in a Python that was built without some modules, as pyenv builds one with warnings."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import dualdbg
from dualdbg.system.patience import patient

# Of setup's list "The necessary bits to build these optional modules were not found"; zlib is not among them, for
# without it pip installs nothing, nor ctypes, by which dualdbg asks the kernel.
OPTIONAL = (
    "_bz2",
    "_lzma",
    "_sqlite3",
    "readline",
    "_curses",
    "_curses_panel",
    "_tkinter",
    "_dbm",
    "_gdbm",
    "_uuid",
)
# What runs when it is imported, and what runs in the program.
LEFT_OUT = (
    "dualdbg.__main__",
    "dualdbg.target.bootstrap",
    "dualdbg.target.tracing",
)
IMPORT_ALL = """
import importlib, json, sys
names, missing = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(missing))
for name in names:
    importlib.import_module(name)
"""


def test_all_of_it_is_imported_without_them() -> None:
    found = pkgutil.walk_packages([str(Path(dualdbg.__file__).parent)], "dualdbg.")
    names = [one.name for one in found if not one.name.startswith(LEFT_OUT)]
    assert len(names) > 300
    words = [sys.executable, "-c", IMPORT_ALL, json.dumps([names, OPTIONAL])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=patient(120), check=False)
    assert done.returncode == 0, done.stderr
