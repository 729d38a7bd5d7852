"""The addresses of code that lie on a stack: every caller's return address is among them.

They say which frame entries an unwind file needs (``unwind_file(library, around=...)``) before anything has
been unwound. Some are left over from earlier calls, which costs a few bytes and does no harm.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence


def code_on_stack(memory: bytes, mappings: Sequence[tuple[int, int]]) -> list[set[int]]:
    """For each mapping (start, end), the aligned words of ``memory`` that are addresses in it.

    ``memory`` is read upwards from the stack pointer. The mappings do not overlap. On aarch64 the innermost
    caller may be in the link register only.
    """
    order = sorted(range(len(mappings)), key=lambda index: mappings[index][0])
    starts = [mappings[index][0] for index in order]
    found: list[set[int]] = [set() for _ in mappings]
    if not order:
        return found
    lowest, highest = starts[0], max(end for _, end in mappings)
    words = array("Q", memory[: len(memory) // 8 * 8])
    for word in {word for word in words if lowest <= word < highest}:
        index = order[bisect_right(starts, word) - 1]
        if word < mappings[index][1]:
            found[index].add(word)
    return found
