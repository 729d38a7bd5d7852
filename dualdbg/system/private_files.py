"""Files that only the user may read."""

from __future__ import annotations

import os
from pathlib import Path


def new_file(path: Path) -> int:
    """Make a file that is not there yet, and open it for writing. Returns the descriptor.

    Raises FileExistsError when something has that name, be it a link that leads nowhere (open(2), O_EXCL); or
    another OSError.
    """
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def open_to_append(path: Path) -> int:
    """Open a file for more lines, or make it; from now on only the user may read it. Returns the descriptor.

    For a folder of :func:`dualdbg.shared.trust.own_folder`: in another, somebody may have put a link there.
    Raises OSError.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
