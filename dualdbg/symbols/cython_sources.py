"""The functions of Cython sources on disk, read once as long as a file stays the same."""

from __future__ import annotations

from pathlib import Path

from ..known.cython_source import Function, functions_of
from ..source_files import read_regular

_LARGEST = 10_000_000  # bytes

_read: dict[str, tuple[tuple[int, int], list[Function]]] = {}


def functions_in(path: str | None) -> list[Function] | None:
    """The functions of a source; None where it cannot be read."""
    if path is None:
        return None
    try:
        status = Path(path).stat()
        state = status.st_mtime_ns, status.st_size
        known = _read.get(path)
        if known is not None and known[0] == state:
            return known[1]
        if status.st_size > _LARGEST:
            return None
        functions = functions_of(read_regular(path).decode("utf-8", "replace").splitlines())
    except OSError:
        return None
    _read[path] = state, functions
    return functions
