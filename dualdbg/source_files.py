"""Source files, whose names come from the target: what could make us wait, such as a pipe or a device, is not read."""

from __future__ import annotations

import errno
import functools
import io
import os
import tokenize
from pathlib import Path

from .shared.regular_files import open_regular

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


def means_file(name: str, path: str) -> bool:
    """Whether a path that a user typed can mean a file: as the whole path, or as its last parts."""
    return same_file(name, path) or path.endswith("/" + name.lstrip("./"))


def same_file(one: str, other: str) -> bool:
    """Whether two paths lead to the same file."""
    return one == other or _real(one) == _real(other)


@functools.lru_cache(maxsize=4096)
def _real(path: str) -> str:
    return os.path.realpath(path)
