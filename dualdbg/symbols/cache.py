"""Where dualdbg keeps files that it can make again: a folder of the user, or one for this process only."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from ..shared.trust import own_folder
from ..system import session_folders
from ..system.folders import NOWHERE

# The oldest files go when the cache grows beyond this (bytes).
LIMIT = 1 << 30


def cache_directory() -> Path:
    """The folder, which exists and can be written; :data:`~dualdbg.system.folders.NOWHERE` where there is none.

    ``$XDG_CACHE_HOME/dualdbg`` or ``~/.cache/dualdbg`` (XDG Base Directory Specification) where that folder is ours.
    It is not ours in a read-only home, nor in the home of another user (sudo keeps HOME). Else a private folder that
    goes when this process ends.
    """
    return _directory(os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", ""))


def is_kept() -> bool:
    """Whether what is stored there outlives this process."""
    folder = cache_directory()
    return folder != NOWHERE and not (
        _private_directory.cache_info().currsize and folder == _private_directory()
    )


def index_folder() -> Path | None:
    """The folder in it where gdb keeps its indexes of debug info, one for each build of a file.

    Its oldest files go as those of the cache itself do. None where it cannot be made: gdb then does without.
    """
    folder = cache_directory() / "gdb-index"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        _prune_what_others_write(folder)
    except OSError:
        return None
    return folder


def _prune_what_others_write(folder: Path) -> None:
    """:func:`_prune` where files came or went since the last time, which a file beside the folder has the time of."""
    seen = folder.with_suffix(".seen")
    changed = folder.stat().st_mtime_ns
    try:
        if seen.stat().st_mtime_ns == changed:
            return
    except FileNotFoundError:
        pass
    _prune(folder)
    with contextlib.suppress(OSError):  # nothing can be written there: it is looked at each time
        seen.touch()
        os.utime(seen, ns=(changed, changed))


@lru_cache(maxsize=8)
def _directory(cache_home: str, home: str) -> Path:
    for base in _bases(cache_home, home):
        folder = own_folder(base / "dualdbg")
        if folder is not None:
            return folder
    try:
        return _private_directory()
    except OSError:
        return NOWHERE


def _bases(cache_home: str, home: str) -> Iterable[Path]:
    if Path(cache_home).is_absolute():  # the specification: a relative path is to be ignored
        yield Path(cache_home)
    elif Path(home).is_absolute():
        yield Path(home) / ".cache"


@lru_cache(maxsize=1)
def _private_directory() -> Path:
    folder = session_folders.make()
    atexit.register(session_folders.remove, folder)
    return folder


def store(name: str, chunks: Iterable[bytes | memoryview]) -> Path:
    """Write a file into the cache, whole or not at all; returns its path.

    Where the cache cannot take it (a full disk, a quota, nothing that can be written), it goes into the private folder,
    or else into memory: its path then leads to a descriptor of this process, and ends with it.
    :raises OSError: there is no memory either.
    """
    content = list(chunks)
    for folder in (cache_directory, _private_directory):
        try:
            return _write(folder(), name, content)
        except OSError:
            continue
    return _keep_in_memory(name, content)


_in_memory: dict[str, Path] = {}


def _keep_in_memory(name: str, chunks: list[bytes | memoryview]) -> Path:
    descriptor = os.memfd_create(name)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.writelines(chunks)
    except BaseException:
        os.close(descriptor)
        raise
    _in_memory[name] = Path(f"/proc/{os.getpid()}/fd/{descriptor}")
    return _in_memory[name]


def store_below(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Write a file at a path below :func:`cache_directory`, whole or not at all. Such files are not removed by age.

    :raises OSError: there is no room for it.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(path.parent, path.name, list(chunks))


def _write(folder: Path, name: str, chunks: list[bytes | memoryview]) -> Path:
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(chunks)
        Path(temporary).replace(folder / name)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _prune(folder, keep=name)
    return folder / name


def look_up(name: str, size: int | None = None) -> Path | None:
    """The file of this name, if it is there with exactly ``size`` bytes; it then counts as just used.

    Without a size it may have any: files are stored whole.
    """
    folders = [cache_directory()]
    if _private_directory.cache_info().currsize:
        folders.append(_private_directory())
    for folder in folders:
        path = folder / name
        try:
            if path.stat().st_size == size or size is None:
                os.utime(path)
                return path
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            if error.errno != errno.EROFS:  # it cannot be marked as just used, but it can be read
                raise
            return path
    return _in_memory.get(name)


def drop(path: Path) -> None:
    """Remove a file that :func:`store` or :func:`look_up` gave, and that cannot be used: it will be made anew."""
    if path not in _in_memory.values():
        path.unlink(missing_ok=True)


def _prune(folder: Path, keep: str | None = None) -> None:
    """Remove the files that were used longest ago, until the rest is within the limit."""
    files = []
    for path in folder.iterdir():
        try:
            files.append((path.stat(), path))
        except FileNotFoundError:  # another dualdbg removed it
            continue
    total = sum(status.st_size for status, _ in files)
    for status, path in sorted(files, key=lambda item: item[0].st_mtime):
        if total <= LIMIT:
            return
        if path.name != keep and path.is_file():
            path.unlink(missing_ok=True)
            total -= status.st_size
