"""Pure: what of a native breakpoint's suffixes gdb does by itself, without a stop that the session hears of."""

from __future__ import annotations

from ...model import BreakpointKind, BreakpointSpec

# Every arrival counts: no rule of the judge's has to look at it first.
_PLAIN = {BreakpointKind.FUNCTION, BreakpointKind.NATIVE_LINE, BreakpointKind.ADDRESS}


def _names_a_thread(spec: BreakpointSpec) -> bool:
    """Whether the thread is given by name, which gdb cannot tell."""
    return spec.thread is not None and not spec.thread.isdigit()


def prints_itself(spec: BreakpointSpec) -> bool:
    """Whether gdb can do all of a log point without a stop."""
    counts = (spec.hits, spec.hit_condition) != (None, None)
    return spec.log is not None and spec.kind in _PLAIN and not counts and not _names_a_thread(spec)


def is_counted_by_gdb(spec: BreakpointSpec) -> bool:
    """Whether gdb can pass over the first hits."""
    plain = spec.kind in _PLAIN and spec.thread is None and spec.log is None
    return spec.hits is not None and spec.hits > 1 and plain
