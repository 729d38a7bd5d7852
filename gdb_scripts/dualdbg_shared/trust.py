"""Whose a file or folder is: where others may put something, nothing is run and nothing is written."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

_ACL = "system.posix_acl_access"  # acl(5): with it, the group's bits bound what the list allows


def objection(place: Path) -> str | None:
    """Why ``place`` does not count as the user's own, in words; None when it does.

    It counts when it belongs to the user or to root, and when nobody else may write to it. A group in which only the
    user is may write. The sticky bit of a folder does not help: others may still put files there. Links are followed.
    Raises OSError when the file is not there.
    """
    status = place.stat()
    if status.st_uid not in (os.geteuid(), 0):
        return f"{place} belongs to {_user(status.st_uid)}"
    if status.st_mode & stat.S_IWOTH:
        return f"everybody may write to {place}"
    if status.st_mode & stat.S_IWGRP and not _is_private(place, status.st_gid):
        return f"the group {_group(status.st_gid)} may write to {place}"
    return None


def is_out_of_reach(folder: Path) -> bool:
    """Whether nobody else can put a file into a folder, or another folder into its place. It need not be there yet.

    So every folder above it has to be the user's or root's, be it one like /tmp, where others can only put things of
    their own beside it (the sticky bit). The home that sudo keeps is another user's.
    """
    real = Path(os.path.realpath(folder))
    for place in (real, *real.parents):
        try:
            if objection(place) and not (place != real and _is_root_s_and_sticky(place)):
                return False
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return True


def _is_root_s_and_sticky(folder: Path) -> bool:
    status = folder.stat()
    return status.st_uid == 0 and bool(status.st_mode & stat.S_ISVTX)


def is_in_no_home(folder: Path) -> bool:
    """Whether a folder would be in the user's home, and that is not there: whoever has none wants none.

    So it is with accounts of services (``/nonexistent`` in Debian's passwd). Root could make it.
    """
    try:
        home = Path("~").expanduser()
    except RuntimeError:  # no HOME, and an account that no table knows
        return False
    return home.is_absolute() and home in folder.parents and not home.is_dir()


def own_folder(folder: Path) -> Path | None:
    """The folder, made where it is not there, for files that only the user may read; None where it would not be so.

    A home that is not there is not made either.
    """
    if not is_out_of_reach(folder) or is_in_no_home(folder):
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        usable = folder.stat().st_uid == os.geteuid() and os.access(
            folder, os.W_OK | os.X_OK, effective_ids=True
        )
    except OSError:
        return None
    return folder if usable and is_out_of_reach(folder) else None


def _is_private(place: Path, group: int) -> bool:
    """Whether the group is the user's or root's own: it has their name, and nobody else is in it (useradd(8)).

    Somebody is in a group as a member, or by the account's own group, which the members do not have.
    """
    if _has_acl(place):
        return False
    for user in (os.geteuid(), 0):
        try:
            account, row = pwd.getpwuid(user), grp.getgrgid(group)
        except KeyError:  # a number that no table knows
            continue
        members = {*row.gr_mem, *(one.pw_name for one in pwd.getpwall() if one.pw_gid == group)}
        if account.pw_gid == group and row.gr_name == account.pw_name and members <= {account.pw_name}:
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
