"""Loads the session's commands into gdb: dualdbg sources this file when it starts gdb."""

import os
import resource
import sys

_FOLDER = os.path.dirname(os.path.realpath(__file__))
if _FOLDER not in sys.path:
    sys.path.insert(0, _FOLDER)

import dualdbg_engine.command  # noqa: E402

# The core of a gdb that crashes would lie in the user's folder.
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

dualdbg_engine.command.register()
