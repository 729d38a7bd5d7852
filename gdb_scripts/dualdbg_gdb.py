"""Loads the helpers into gdb: ``source /path/to/gdb_scripts/dualdbg_gdb.py``. Then ``torch-help``."""

import sys
from pathlib import Path

_FOLDER = str(Path(__file__).resolve().parent)
if _FOLDER not in sys.path:
    sys.path.insert(0, _FOLDER)

import dualdbg_helpers.register  # noqa: E402

dualdbg_helpers.register.register()
