"""The user's folders, any of which may be missing: a home, the working directory, a place for temporary files."""

from __future__ import annotations

import os
from pathlib import Path

from ..shared.proc_files import without_mark
from ..shared.trust import own_folder

_TEMPORARY = ("/tmp", "/var/tmp", "/usr/tmp", os.curdir)

NOWHERE = Path(os.devnull, "dualdbg")
"""A path at which nothing can be and nothing can be made."""


def expanded(name: str | Path) -> Path:
    """``name`` with a leading ``~`` replaced. Where there is no such home it stays: a file may be called so."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)


def user_folder(variable: str, below_home: str) -> Path:
    """dualdbg's folder of one kind (XDG Base Directory Specification); :data:`NOWHERE` without a home."""
    for base in (Path(os.environ.get(variable, "")), expanded(f"~/{below_home}")):
        if base.is_absolute():  # the specification: a relative path is to be ignored
            return base / "dualdbg"
    return NOWHERE


def state_folder() -> Path:
    """Where dualdbg remembers things between sessions; :data:`NOWHERE` where others could read or change them."""
    return own_folder(user_folder("XDG_STATE_HOME", ".local/state")) or NOWHERE


def here() -> Path:
    """The working directory; where that was removed, the path that it had."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(without_mark(str(Path("/proc/self/cwd").readlink())))


def temporary_folder() -> Path | None:
    """Where temporary files can be made; None where there is no such place.

    The first good one of those that ``tempfile.gettempdir`` looks at. That one tries by a file, which stays where we
    are killed before it is removed.
    """
    named = (os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP"))
    return next(filter(_has_room, (here() / base for base in (*named, *_TEMPORARY) if base)), None)


def _has_room(folder: Path) -> bool:
    """Whether a file can be made in it."""
    try:
        system = os.statvfs(folder)
    except OSError:
        return False
    # Some systems of files have no number of blocks or of files: 0.
    is_full = (system.f_blocks and not system.f_bavail) or (system.f_files and not system.f_favail)
    return not is_full and folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
