"""The user's folders, any of which may be missing: a home, the working directory, a place for temporary files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .trust import own_folder

# What the kernel appends to the path of a folder that was removed (proc(5), /proc/pid/cwd).
_REMOVED = " (deleted)"

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
        return Path(str(Path("/proc/self/cwd").readlink()).removesuffix(_REMOVED))


def temporary_folder() -> Path | None:
    """Where temporary files can be made; None where there is no such place."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        return None
