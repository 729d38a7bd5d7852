"""Whether a file that the user did not name belongs to the user: only such a file may make dualdbg run code."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

_ACL = "system.posix_acl_access"  # acl(5): with it, the group's bits bound what the list allows


def objection(place: Path) -> str | None:
    """Why ``place`` does not count as the user's own, in words; None when it does.

    It counts when it belongs to the user or to root, and when nobody else may write to it. A group whose only member
    is the user may write. The sticky bit of a folder does not help: others may still put files there. Links are
    followed. Raises OSError when the file is not there.
    """
    status = place.stat()
    if status.st_uid not in (os.geteuid(), 0):
        return f"{place} belongs to {_user(status.st_uid)}"
    if status.st_mode & stat.S_IWOTH:
        return f"everybody may write to {place}"
    if status.st_mode & stat.S_IWGRP and not _is_private(place, status.st_gid):
        return f"the group {_group(status.st_gid)} may write to {place}"
    return None


def _is_private(place: Path, group: int) -> bool:
    """Whether the group is the user's or root's own: it has their name, and nobody else is in it (useradd(8))."""
    if _has_acl(place):
        return False
    for user in (os.geteuid(), 0):
        try:
            account, row = pwd.getpwuid(user), grp.getgrgid(group)
        except KeyError:  # a number that no table knows
            continue
        if account.pw_gid == group and row.gr_name == account.pw_name and {*row.gr_mem} <= {account.pw_name}:
            return True
    return False


def _has_acl(place: Path) -> bool:
    try:
        os.getxattr(place, _ACL)
    except OSError:  # ENODATA: the file has no list; EOTSUP: the file system has no lists
        return False
    return True


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"the user {number}"


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
