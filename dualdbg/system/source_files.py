"""Source files, whose names come from the target: what could make us wait, such as a pipe or a device, is not read."""

from __future__ import annotations

import errno
import filecmp
import functools
import io
import os
import re
import tokenize
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from ..shared.regular_files import open_regular
from .folders import expanded, here

_MOST = 64 * 1024 * 1024  # bytes; generated sources reach some ten million


def read_regular(path: str | Path, most: int = -1) -> bytes:
    """The content of a regular file, or its first ``most`` bytes. Raises OSError for every other kind of file."""
    with open_regular(path) as file:
        return file.read(most)


def source_text(path: str | Path) -> str | None:
    """The text of a source file, with line feeds alone; None when it cannot be read.

    A Python file is decoded as it says itself (PEP 263), every other one from UTF-8; what cannot be is replaced.
    """
    try:
        about = Path(path).stat()
        return _text(os.fspath(path), about.st_mtime_ns, about.st_size, about.st_ino)
    except (OSError, ValueError):  # ValueError: a null byte in the name
        return None


def source_lines(path: str | Path) -> list[str]:
    """The lines of a source file, without their line feeds; none when it cannot be read."""
    lines = (source_text(path) or "").split("\n")
    return lines if lines[-1] else lines[:-1]


def source_line(path: str | Path, line: int) -> str | None:
    """One line of a source file, counted from 1; None when there is none."""
    lines = source_lines(path)
    return lines[line - 1] if 0 < line <= len(lines) else None


@functools.lru_cache(maxsize=8)
def _text(path: str, modified: int, size: int, inode: int) -> str:
    """The rest of the arguments changes with the content."""
    if size > _MOST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    data = read_regular(path, _MOST)
    encoding = "utf-8"
    if path.endswith((".py", ".pyw", ".pyi")):
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        except SyntaxError:  # the file names an unknown encoding
            pass
    try:
        text = data.decode(encoding, "replace")
    except LookupError:  # a codec of Python's that makes no text, such as rot13
        text = data.decode("utf-8", "replace")
    return text.replace("\r\n", "\n")


def file_at(name: str, folders: Iterable[Path]) -> str | None:
    """The file to which a path that a user typed leads from the first of ``folders`` that has it, links resolved."""
    paths = (folder / expanded(name) for folder in folders)
    return next((_real(str(path)) for path in paths if path.is_file()), None)


def search_names(name: str, folders: Sequence[Path]) -> list[str]:
    """The names by which an engine is asked for the source that a user has named; :func:`means_file` says which is it.

    An engine takes an absolute path, or the last components of one.
    """
    path = last_components(name)
    return list(dict.fromkeys([file_at(name, folders) or path, path, PurePath(path).name]))


def means_file(name: str, path: str, folders: Sequence[Path] | None = None) -> bool:
    """Whether a path that a user typed means the source file ``path``, which need not be on this machine.

    It leads to the file from one of ``folders``, by default the working directory; else one of the two paths ends with
    the components of the other. A file that is there, and has another content, is another file.
    """
    among = [here()] if folders is None else folders
    file, named = file_at(name, among), last_components(name)
    if file is not None and same_file(file, path):
        return True
    recorded = last_components(path)
    whole = last_components(str(among[0] / expanded(name)))
    if not (recorded == whole or _ends(recorded, named) or (path[:1] != "/" and _ends(whole, recorded))):
        return False
    return file is None or not Path(path).is_file() or filecmp.cmp(file, path, shallow=False)


def last_components(name: str) -> str:
    """Return a path without empty components and dots, a relative one without ``..`` in front."""
    path = os.path.normpath(expanded(name))
    return "/" + path.lstrip("/") if path.startswith("/") else re.sub(r"\A(?:\.\./)+", "", path)


def _ends(path: str, last: str) -> bool:
    return last[:1] != "/" and ("/" + path).endswith("/" + last)


def same_file(one: str, other: str) -> bool:
    """Whether two paths lead to the same file."""
    return one == other or _real(one) == _real(other)


@functools.lru_cache(maxsize=4096)
def _real(path: str) -> str:
    return os.path.realpath(path)
