"""How code was compiled, as the compiler says in debug info (DW_AT_producer). Pure."""

from __future__ import annotations

import re

_OPTIMIZED = re.compile(r"(?:^|\s)-O(\w*)")


def is_optimized(producer: "str | None") -> "bool | None":
    """Whether the compiler optimised, by its options in debug info (GCC writes them); None where it does not say."""
    if producer is None or not producer.startswith("GNU ") or " -" not in producer:
        return None
    levels = _OPTIMIZED.findall(producer)
    return bool(levels) and levels[-1] != "0"
