"""Runs in the target: waits for debugpy's client and for a tracer, then runs the script as Python would.

    python waiting_program.py PORT FOLDER_OF_DEBUGPY SCRIPT [ARGS...]

It needs nothing but the standard library of Python 3.8 and debugpy, whose folder is given.
"""

from __future__ import annotations

import os
import runpy
import sys
import time
from pathlib import Path

_TRACER_SECONDS = 60.0  # of a usual machine; DUALDBG_PATIENCE multiplies it (dualdbg/patience.py)
_PAUSE_SECONDS = 0.02


def main() -> None:
    port, debugpy_folder, script = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    sys.argv[:] = sys.argv[3:]
    sys.path[0] = debugpy_folder
    import debugpy

    sys.path[0] = str(Path(script).resolve().parent)
    debugpy.listen(("127.0.0.1", port))
    print(
        f"dualdbg: waiting for an editor on 127.0.0.1:{port}, process {os.getpid()}",
        file=sys.stderr,
        flush=True,
    )
    debugpy.wait_for_client()
    seconds = _TRACER_SECONDS * _patience()
    if not _traced(seconds):
        print(f"dualdbg: no gdb came in {seconds:g} s; going on without", file=sys.stderr, flush=True)
    runpy.run_path(script, run_name="__main__")


def _patience() -> float:
    try:
        return min(max(1.0, float(os.environ.get("DUALDBG_PATIENCE") or 1)), 1000.0)
    except ValueError:
        return 1.0


def _traced(seconds: float) -> bool:
    """Whether a debugger has attached before the time is over."""
    deadline = time.monotonic() + seconds
    while _tracer() == 0:
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)
    return True


def _tracer() -> int:
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("TracerPid:"):
                return int(line.split()[1])
    return 0


main()
