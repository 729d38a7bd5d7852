"""The memory that probes share with us: counters, and rings of records (dualdbg/probes/recording.py)."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from ..probes import recording
from ..probes.recording import Shared

_WORD = 8
_AT_ONCE = 8192  # records in a piece: their room is used again when it is read
# Seconds for a record that was begun, and in a ring that is half full, in which its thread could have gone on: whoever
# is slower loses it, and no more.
_WAIT, _SHORT_WAIT = 1.0, 0.01
# Seconds between two looks count as no more: where we come late, so do the threads of the target.
_LOOK = 0.05


def complete(piece: memoryview, first: int) -> int:
    """How many records at the beginning are complete: their numbers are written, one after the other."""
    now = piece[:: recording.WORDS].tolist()  # one look: the threads write on meanwhile
    wanted = range(first, first + len(now))
    if now == list(wanted):
        return len(now)
    return next(at for at, pair in enumerate(zip(now, wanted, strict=True)) if pair[0] != pair[1])


class TraceMemory:
    """A mapping of it. It outlives the target: what was counted up to its very end can be read."""

    def __init__(self, path: str, shared: Shared, address: int) -> None:
        """``path`` is that of an open descriptor of it (proc(5), fd), ``address`` where the target has it.

        Raises OSError.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._map = mmap.mmap(descriptor, shared.size)
        finally:
            os.close(descriptor)
        self.shared = shared
        self.address = address
        self._words = memoryview(self._map).cast("Q")
        self.probes = 0  # how many have a counter here
        self.is_over = False  # nobody writes any more: what is not complete now never will be
        # Whether the target runs: else nobody writes just now.
        self.may_write: Callable[[], bool] = lambda: True
        self._tails = [0] * shared.rings  # ours: what the target has is for its own use
        # Of each ring whose next record is not complete: which one that is, how many were begun then, for how many
        # seconds its thread could have gone on since, and when we have looked last.
        self._waiting: dict[int, tuple[int, int, float, float]] = {}
        self._takes_down = shared.rings > 0
        self._last: list[int] | None = None  # the counters, once it is closed

    def new_probe(self) -> int:
        """The number of a probe, for its counter. Raises ValueError where there are no more."""
        if self.probes == recording.PROBES:
            raise ValueError(f"there are {recording.PROBES} probes already")
        self.probes += 1
        return self.probes - 1

    def hits(self, probe: int) -> int:
        """How often a probe was hit so far."""
        if self._last is None:
            with suppress(ValueError):  # it is being closed
                return self._words[self.shared.counter(probe) // _WORD]
        assert self._last is not None
        return self._last[probe]

    @property
    def state_offsets(self) -> Sequence[int]:
        """How far a thread's pointers to its Python thread state are from its thread pointer: the one that is read
        first, and another where that is null. None: not known.
        """
        halves = self._words[0].to_bytes(_WORD, "little")
        found = (int.from_bytes(half, "little", signed=True) for half in (halves[:4], halves[4:]))
        return [one for one in found if one]

    @state_offsets.setter
    def state_offsets(self, offsets: Sequence[int]) -> None:
        first, second = (*offsets, 0, 0)[:2]
        self._words[0] = (second & (1 << 32) - 1) << 32 | first & (1 << 32) - 1

    def end_records(self) -> None:
        """Give back what the rings have. Hits are counted on, and are taken down no more: the rings are as if full."""
        if self._takes_down:
            self._takes_down = False
            for ring in range(self.shared.rings):
                control = self.shared.control(ring) // _WORD
                head = self._words[control + recording.HEAD // _WORD]
                self._words[control + recording.TAIL // _WORD] = head - self.shared.capacity & (1 << 64) - 1
            first = self.shared.records(0)
            self._map.madvise(mmap.MADV_REMOVE, first, self.shared.size - first)

    def take(self, complete: Callable[[memoryview, int], int] = complete) -> Iterator[memoryview]:
        """The records that are complete and were not taken yet, in pieces of whole records, as words.

        ``complete`` says of a piece how many of them are, or how many it takes, of which the first has this number.
        A piece is valid until the next one is asked for: its place in the ring is used again then.
        """
        for ring in range(self.shared.rings if self._takes_down else 0):
            yield from self._take(ring, complete)

    def _take(self, ring: int, complete: Callable[[memoryview, int], int]) -> Iterator[memoryview]:
        words, capacity = self._words, self.shared.capacity
        control = self.shared.control(ring) // _WORD
        first = self.shared.records(ring) // _WORD
        head, tail = words[control + recording.HEAD // _WORD], self._tails[ring]
        while tail < head:
            at = tail % capacity
            count = min(head - tail, capacity - at, _AT_ONCE)
            start = first + at * recording.WORDS
            piece = words[start : start + count * recording.WORDS]
            taken = complete(piece, tail + 1)
            if taken:
                yield piece[: taken * recording.WORDS]
            passed = taken + (taken < count and self._is_given_up(ring, tail + taken, head))
            tail += passed
            self._tails[ring] = words[control + recording.TAIL // _WORD] = tail
            if not passed:
                break

    def _is_given_up(self, ring: int, tail: int, head: int) -> bool:
        """Whether nobody will complete the record after the first ``tail`` ones. All that were begun so long ago are
        given up with it.
        """
        words, capacity, first = self._words, self.shared.capacity, self.shared.records(ring) // _WORD
        number = words[first + tail % capacity * recording.WORDS]
        if number in (tail + 1, recording.GIVEN_UP):
            return number == recording.GIVEN_UP
        waiting, begun, waited, looked = self._waiting.get(ring, (-1, 0, 0.0, 0.0))
        now = time.monotonic()
        if self.is_over:
            begun = head
        elif waiting != tail:
            self._waiting[ring] = (tail, head, 0.0, now)
            return False
        else:
            waited += min(now - looked, _LOOK) if self.may_write() else 0.0
            self._waiting[ring] = (tail, begun, waited, now)
            if waited < (_WAIT if head - tail < capacity // 2 else _SHORT_WAIT):
                return False
        start = tail
        while start < begun:
            at = start % capacity
            end = min(start + capacity - at, begun)
            piece = words[first + at * recording.WORDS : first + (at + end - start) * recording.WORDS]
            for index, found in enumerate(piece[:: recording.WORDS].tolist()):
                if found != start + index + 1:
                    piece[index * recording.WORDS] = recording.GIVEN_UP
            start = end
        return True

    def close(self) -> None:
        """Give the memory back, also to a target that still has it mapped. It reads as zeros then."""
        self._takes_down = False
        self._last = [self.hits(probe) for probe in range(self.probes)]
        self._words.release()
        self._map.madvise(mmap.MADV_REMOVE)
        self._map.close()
