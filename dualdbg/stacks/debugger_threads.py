"""Which threads of a program are the debugger's own, by their names and frames. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..model import PythonFrame

_NAMES = "pydevd."  # how debugpy names its threads, from their first line on
_BODY = "/_pydevd_bundle/pydevd_daemon_thread.py"  # its threads begin in this file, in PyDBDaemonThread.run
_AT_ATTACH = "/bootstrap/dualdbg_attach.py"  # and those that bring it into a running program in this one


def is_debuggers(name: str | None, frames: Iterable[PythonFrame]) -> bool:
    """Whether a thread of this Python name, with these Python frames, innermost first, belongs to the debugger.

    A thread of a short life has no name of its own.
    """
    if (name or "").startswith(_NAMES):
        return True
    outermost = None
    for frame in frames:
        if (frame.file or "").endswith(_BODY) and frame.function.rpartition(".")[2] == "run":
            return True
        outermost = frame
    return outermost is not None and (outermost.file or "").endswith(_AT_ATTACH)
