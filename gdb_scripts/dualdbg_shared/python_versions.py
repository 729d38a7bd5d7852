"""The versions of CPython that dualdbg knows: one table for the code, in gdb too, and the tests.

A newer one is tried, with a warning. What a new version needs is said in the modules that have rows by version:
``snapshot/cpython/layout.py``, ``session/attach/pending_call.py`` and ``gdb_scripts/dualdbg_helpers/python``.
"""

from __future__ import annotations

KNOWN: tuple[tuple[int, int], ...] = ((3, 8), (3, 9), (3, 10), (3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
OLDEST, NEWEST = KNOWN[0], KNOWN[-1]


def text_of(version: tuple[int, int]) -> str:
    """A version as text: ``3.14``."""
    return f"{version[0]}.{version[1]}"


NAMES = tuple(map(text_of, KNOWN))
RANGE = f"CPython {NAMES[0]} to {NAMES[-1]}"


def warning_of(version: str | None) -> tuple[str, str] | None:
    """The warning and its hint about a Python such as ``3.15.0``; None for a known version, or without a version."""
    if version is None:
        return None
    major, minor = version.split(".")[:2]
    if (int(major), int(minor)) <= NEWEST:
        return None
    message = f"Python {version} is newer than this dualdbg: frames, values or steps may be wrong or missing"
    return message, f"dualdbg knows {RANGE}; look for a newer dualdbg"
