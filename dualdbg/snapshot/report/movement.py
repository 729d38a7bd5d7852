"""What moved between samples of the same processes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..facts import ProcessReport, ThreadReport
from .fold import thread_key
from .standing import standing, stands_still
from .telling_frame import where
from .waits import seconds_between


@dataclass(frozen=True)
class Movement:
    """A thread over the samples in which it was seen. ``places`` are the different places, in order of appearance,
    each with the number of its samples. ``stacks`` counts the different stacks: there may be several at one place.
    ``moved``: it has not stood still all the time; it may have come back to the same stack.
    """

    pid: int
    tid: int
    name: str
    places: tuple[tuple[str, int], ...]
    stacks: int
    samples: int
    moved: bool


def movements(samples: Sequence[Sequence[ProcessReport]], seconds: float) -> list[Movement]:
    """Every thread that was seen, in the order of its first appearance.

    ``seconds`` lie between two samples that have no time of their own.
    """
    seen: dict[tuple[int, int], list[tuple[ProcessReport, ThreadReport]]] = {}
    for sample in samples:
        for process in sample:
            for thread in process.threads:
                seen.setdefault((process.pid, thread.thread.tid), []).append((process, thread))
    return [_movement(pid, tid, rows, seconds) for (pid, tid), rows in seen.items()]


def _movement(pid: int, tid: int, rows: list[tuple[ProcessReport, ThreadReport]], seconds: float) -> Movement:
    threads = [thread for _, thread in rows]
    stands = [standing(*row) for row in rows]
    between = [seconds_between(was, now, seconds) for (was, _), (now, _) in pairwise(rows)]
    places: dict[str, int] = {}
    for thread in threads:
        place = where(thread)
        places[place] = places.get(place, 0) + 1
    first = threads[0].thread
    return Movement(
        pid=pid,
        tid=tid,
        name=first.python_name or first.name,
        places=tuple(places.items()),
        stacks=len({thread_key(thread) for thread in threads}),
        samples=len(threads),
        moved=not all(map(stands_still, stands, stands[1:], between)),
    )
