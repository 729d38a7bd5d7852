"""Where a stack repeats itself: recursion through one function or through several. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

_LONGEST = 100  # frames that call each other in a cycle; a longer one is shown whole
_MOST_REPEATS = 3  # equal frames, or equal cycles, in a row that are all shown


@dataclass(frozen=True)
class Run:
    """``period`` frames from ``start`` on, which are there ``times`` times in a row."""

    start: int
    period: int
    times: int

    @property
    def left_out(self) -> str:
        """What stands for the frames that are not shown; empty where all are."""
        if self.times == 1:
            return ""
        frames = "the same frame" if self.period == 1 else f"the same {self.period} frames"
        return f"... {frames} {self.times - 1} more times"


def runs(keys: Sequence[Hashable]) -> Iterator[Run]:
    """The whole sequence in runs; what does not repeat often is runs of one. Of the cycles that begin at a frame it is
    the one that reaches furthest, and of these the shortest."""
    later: dict[Hashable, int] = {}  # the next place of the same key, from the end on
    following = [0] * len(keys)
    for at in range(len(keys) - 1, -1, -1):
        following[at] = later.get(keys[at], len(keys))
        later[keys[at]] = at
    at = 0
    while at < len(keys):
        best = Run(at, 1, 1)
        again = following[at]
        while again < len(keys) and again - at <= _LONGEST:
            found = Run(at, again - at, _times(keys, at, again - at))
            if found.times > _MOST_REPEATS and found.period * found.times > best.period * best.times:
                best = found
            again = following[again]
        yield best
        at += best.period * best.times


def _times(keys: Sequence[Hashable], at: int, period: int) -> int:
    end = at + period
    while end < len(keys) and keys[end] == keys[end - period]:
        end += 1
    return (end - at) // period
