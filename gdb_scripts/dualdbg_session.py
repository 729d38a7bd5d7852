"""Loads the session's commands into gdb: dualdbg sources this file when it starts gdb."""

import resource
import sys
from pathlib import Path

_FOLDER = str(Path(__file__).resolve().parent)
if _FOLDER not in sys.path:
    sys.path.insert(0, _FOLDER)

import dualdbg_engine.command  # noqa: E402

# The core of a gdb that crashes would lie in the user's folder.
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

dualdbg_engine.command.register()
