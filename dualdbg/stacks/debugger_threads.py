"""Which threads of a program are the debugger's own, by their names and frames. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..model import PythonFrame

_NAMES = "pydevd."  # how debugpy names its threads, from their first line on
_BODY = "/_pydevd_bundle/pydevd_daemon_thread.py"  # its threads begin in this file, in PyDBDaemonThread.run


def is_debuggers(name: str | None, frames: Iterable[PythonFrame]) -> bool:
    """Whether a thread of this Python name, with these Python frames, belongs to debugpy.

    A thread of a short life has no name of its own.
    """
    return (name or "").startswith(_NAMES) or any(
        (frame.file or "").endswith(_BODY) and frame.function.rpartition(".")[2] == "run" for frame in frames
    )
