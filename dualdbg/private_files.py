"""New files that only the user may read. A file that exists, or a link, is never used."""

from __future__ import annotations

import os
from pathlib import Path


def new_file(path: Path) -> int:
    """Make a file that is not there yet, and open it for writing. Returns the descriptor.

    Raises FileExistsError when something has that name, be it a link that leads nowhere (open(2), O_EXCL); or
    another OSError.
    """
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
