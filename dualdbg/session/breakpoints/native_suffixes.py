"""What gdb does of a native breakpoint's suffixes by itself, so that the session hears of no stop. Pure."""

from __future__ import annotations

from ...model import BreakpointKind, BreakpointSpec
from ..log_text import split_log

# Every arrival at these counts; others must be looked at first (stops/native_hits.py).
_PLAIN = {
    BreakpointKind.FUNCTION,
    BreakpointKind.NATIVE_LINE,
    BreakpointKind.COMPILED_LINE,
    BreakpointKind.ADDRESS,
}


def expressions_of(spec: BreakpointSpec) -> list[str]:
    """The condition of a breakpoint, empty where it has none, and the expressions of its log text."""
    return [spec.condition or "", *(split_log(spec.log)[1] if spec.log is not None else [])]


def _names_a_thread(spec: BreakpointSpec) -> bool:
    """Whether the thread is given by its name, which gdb does not know."""
    return spec.thread is not None and not spec.thread.isdigit()


def _is_plain(spec: BreakpointSpec) -> bool:
    return spec.kind in _PLAIN and spec.outermost is None


def prints_itself(spec: BreakpointSpec) -> bool:
    """Whether gdb can print the text of a log point by itself, without a stop."""
    counts = (spec.hits, spec.hit_condition) != (None, None)
    return spec.log is not None and _is_plain(spec) and not counts and not _names_a_thread(spec)


def is_counted_by_gdb(spec: BreakpointSpec) -> bool:
    """Whether gdb can pass over the first hits by itself."""
    plain = _is_plain(spec) and spec.thread is None and spec.log is None
    return spec.hits is not None and spec.hits > 1 and plain
