"""Folders for temporary files of a session. Each is removed when the session has ended, in whatever way.

Who has made a folder holds a lock on a file in it, which the kernel drops with the process. When we are gone a shell
removes the folder (afterwards.py). Where that one was ended too, the next session does: it removes what certainly
belongs to its own user, and what nobody has a lock on.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from . import afterwards
from .folders import temporary_folder

_PREFIX = "dualdbg-"
_LOCK = "held"  # the name of the file; it gets its name when it is locked
_locks: dict[Path, tuple[int, afterwards.Duty]] = {}
_swept: set[Path] = set()


def bases() -> list[Path]:
    """Where such a folder may be, best first."""
    first = temporary_folder()
    others = ["/tmp", "/var/tmp", os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm"]
    wanted = [*([str(first)] if first is not None else []), *others]
    return [Path(base) for base in dict.fromkeys(wanted) if base]


def make(base: Path | None = None) -> Path:
    """A new folder of mode 0700 in ``base``, or where temporary files are. Raises OSError."""
    _sweep_once(bases())
    base = temporary_folder() if base is None else base
    if base is None:
        raise FileNotFoundError(errno.ENOENT, "no folder for temporary files can be written to")
    folder = _new_path(base)
    duty = afterwards.remove(folder)  # before there is a folder: we may be killed at any moment
    try:
        folder.mkdir(0o700)
    except OSError:
        duty.drop()
        raise
    try:
        lock = os.open(folder / f".{_LOCK}", os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / f".{_LOCK}").rename(folder / _LOCK)
        _locks[folder] = lock, duty
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        duty.drop()
        raise
    return folder


def _new_path(base: Path) -> Path:
    """A path that nothing has, and that nobody can guess. Raises OSError where the shell could not remove it."""
    if "\n" in str(base):
        raise OSError(errno.EINVAL, "its path has a line break")
    return base.absolute() / f"{_PREFIX}{os.getpid()}-{secrets.token_urlsafe(6)}"


def remove(folder: Path) -> None:
    """Remove one of our folders with all that is in it. May be called again."""
    shutil.rmtree(folder, ignore_errors=True)
    lock, duty = _locks.pop(folder, (None, None))
    if lock is not None:
        os.close(lock)
    if duty is not None:
        duty.drop()


@contextmanager
def temporary() -> Iterator[Path]:
    """A folder for as long as the block runs. Raises OSError."""
    folder = make()
    try:
        yield folder
    finally:
        remove(folder)


def _sweep_once(places: Iterable[Path]) -> None:
    """Sweep beside the session: a folder for temporary files may be large."""
    fresh = [base for base in places if base not in _swept]
    _swept.update(fresh)
    if fresh:
        with suppress(RuntimeError):  # there may be no thread to spare: a later start sweeps
            threading.Thread(
                target=lambda: [sweep(base) for base in fresh], name="sweep", daemon=True
            ).start()


def sweep(base: Path) -> list[Path]:
    """Remove the folders of dead sessions of this user in ``base``; returns their paths."""
    try:
        with os.scandir(base) as entries:
            found = [Path(entry.path) for entry in entries if entry.name.startswith(_PREFIX)]
    except OSError:
        return []
    return [folder for folder in found if _remove_if_dead(folder)]


def _remove_if_dead(folder: Path) -> bool:
    try:
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
            return False
        lock = os.open(folder / _LOCK, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # it has gone, or is no session's folder
        return False
    try:
        if os.fstat(lock).st_uid != os.geteuid():
            return False
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)  # follows no link, whoever changes what meanwhile
    except OSError:  # its session lives, or it is being removed by another
        return False
    finally:
        os.close(lock)
    return True
