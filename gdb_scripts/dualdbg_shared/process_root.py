"""Names of files as a process sees them that has another root than we have: in a container, or after chroot(2).

/proc/PID/maps names a file from the root of its mount namespace, or from ours where that reaches it. The process's own
root may lie deeper: /proc/PID/root says where. Below that link, any file of the process can be opened.
"""

from __future__ import annotations

import os


def root_link(pid: int) -> str:
    """Where the root of process ``pid`` lies, in the terms of /proc/PID/maps: ``/`` for most."""
    try:
        return os.readlink("/proc/%d/root" % pid)  # noqa: PTH115 - called for each look
    except OSError:
        return "/"


def inside(path: str, link: str) -> str:
    """A path of /proc/PID/maps as the process itself would name it; ``link`` is its :func:`root_link`."""
    return path[len(link) :] if link != "/" and path.startswith(link + "/") else path
