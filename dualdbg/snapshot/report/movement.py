"""What moved between samples of the same processes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..facts import ProcessReport, ThreadReport
from .fold import thread_key
from .telling_frame import where


@dataclass(frozen=True)
class Movement:
    """A thread over the samples in which it was seen. ``places`` are the different places, in order of appearance,
    each with the number of its samples. ``stacks`` counts the different stacks: there may be several at one place.
    """

    pid: int
    tid: int
    name: str
    places: tuple[tuple[str, int], ...]
    stacks: int
    samples: int

    @property
    def moved(self) -> bool:
        """Whether its stack was not the same in all samples."""
        return self.stacks > 1


def movements(samples: Sequence[Sequence[ProcessReport]]) -> list[Movement]:
    """Every thread that was seen, in the order of its first appearance."""
    seen: dict[tuple[int, int], list[ThreadReport]] = {}
    for sample in samples:
        for process in sample:
            for thread in process.threads:
                seen.setdefault((process.pid, thread.thread.tid), []).append(thread)
    return [_movement(pid, tid, threads) for (pid, tid), threads in seen.items()]


def _movement(pid: int, tid: int, threads: list[ThreadReport]) -> Movement:
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
    )
