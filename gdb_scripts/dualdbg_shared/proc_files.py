"""Files of /proc/PID, taken apart (proc(5))."""

from __future__ import annotations

DELETED = " (deleted)"  # behind the name of a file or a folder that was deleted since it was mapped or opened


def without_mark(path: str) -> str:
    """The path of a file or a folder as it was before it was deleted."""
    return path[: -len(DELETED)] if path.endswith(DELETED) else path
