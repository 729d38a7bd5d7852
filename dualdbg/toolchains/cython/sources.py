"""Cython sources on disk: their functions and lines, read once as long as a file stays the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...system.source_files import read_regular
from .source_text import Function, functions_of, statements_of

_LARGEST = 10_000_000  # bytes


@dataclass(frozen=True)
class Source:
    """The ``functions`` of a source, how many ``lines`` it has, and at which of them ``statements`` begin that run."""

    functions: list[Function]
    lines: int
    statements: frozenset[int]


_read: dict[str, tuple[tuple[int, int], Source]] = {}


def source_of(path: str | None) -> Source | None:
    """What is known of a source; None where it cannot be read."""
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
        lines = read_regular(path).decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    source = Source(functions_of(lines), len(lines), statements_of(lines))
    _read[path] = state, source
    return source
