"""Which gdb dualdbg works with: the one place that says it."""

OLDEST = 12
"""The first with the MI and the Python that are needed."""

NEWEST = 18
"""The last that was tried."""

_SAME_CODE = 16
"""The last that finds the same inlined functions in a file without types (symbols/gdb_feed/lines_file.py).

gdb 18 finds others at one of 200 addresses in optimised code. 17 was not tried.
"""


def finds_same_code_without_types(version: str | None) -> bool:
    """Whether a gdb of this version finds the same functions and lines where debug info has no types."""
    major = (version or "").partition(".")[0]
    return major.isdecimal() and OLDEST <= int(major) <= _SAME_CODE
