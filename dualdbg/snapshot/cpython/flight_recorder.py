"""c10d's Flight Recorder in memory: the newest operations of a process, also where it writes no file.

It is on unless TORCH_FR_BUFFER_SIZE is 0 (torch/csrc/distributed/c10d/FlightRecorder.hpp). gloo records collectives in
it, but neither send nor recv.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...known.torch_operations import FLIGHT_RECORDERS, RECORDED
from ...symbols.address_space import Module
from ..facts import Collective, ProcessGroup

_NEWEST = 64  # entries that are looked at; it has 2000
_MOST_ENTRIES = 1 << 24
_STRING = 32  # bytes of one of libstdc++; in a tuple of two the latter lies in front
_SECOND = 1e9
_WITH_QUEUE = "gloo"


@dataclass(frozen=True)
class Recorded:
    """One operation of a backend. ``number`` counts all of a group, ``sequence`` its collectives. ``began``: seconds
    since 1970.

    ``is_retired``: the backend has put it aside, done or timed out.
    """

    group: str
    backend: str
    operation: str
    number: int
    sequence: int
    began: float
    is_retired: bool
    is_between_two: bool


def recorders(modules: Sequence[Module]) -> list[int]:
    """The addresses of the pointers to the recorders of a process. It may take 0.1 s: not for one that stands still."""
    return [
        symbol.address + module.bias
        for module in modules
        for library, name in FLIGHT_RECORDERS
        if module.library is not None and module.path.rpartition("/")[2].startswith(library)
        for symbol in module.library.find_data(name)
    ]


def read_recorder(target: Any, pointer: int) -> Iterator[Recorded]:
    """The newest operations, the newest first. Raises an error of the helpers where no recorder lies there."""
    recorder = target.memory.u64(pointer)
    if not recorder:  # nobody has asked for it yet
        return
    whole = target.layout.record("dualdbg::FlightRecorder")
    entry = target.layout.record("dualdbg::FlightEntry")
    first, count = target.cxx.vector(recorder + whole["entries_"], entry.size)
    if not 0 < count <= _MOST_ENTRIES:
        return
    # Where the next one goes; it is full once it begins anew.
    following = target.memory.u64(recorder + whole["next_"])
    for back in range(1, min(count, _NEWEST) + 1):
        yield _entry(target, first + (following - back) % count * entry.size, entry)


def with_recorded(
    group: ProcessGroup, works: Sequence[Collective], rows: Sequence[Recorded], now: float
) -> tuple[ProcessGroup, list[Collective]]:
    """A group and its operations with what the recorder knows of them: ``rows`` are those of the group, the newest
    first. ``now``: seconds since 1970. Pure.

    The queue of gloo says what is not done, and the recorder only since when. Of a backend whose queue is not known it
    is what the backend has not put aside. Several operations that began as one have one number: they are left out.
    """
    # A group may have a backend for each kind of device: of these it is one.
    rows = [row for row in rows if row.backend == group.backend and not row.is_between_two]
    if not rows:
        return group, [*works]
    by_number = {(row.number, row.operation): row for row in rows}
    if group.backend == _WITH_QUEUE:
        aged = [
            replace(work, age=_age(row, now))
            if (row := by_number.get((work.sequence or 0, work.operation))) is not None
            else work
            for work in works
        ]
        return replace(group, last=_collective(rows[0], rows[0].number, now)), aged
    numbers = Counter(row.sequence for row in rows)
    waiting = [
        _collective(row, row.sequence, now)
        for row in reversed(rows)
        if not row.is_retired and numbers[row.sequence] == 1
    ]
    last = _collective(rows[0], rows[0].sequence, now)
    return replace(group, last=last, sequence=max(numbers)), waiting


def _collective(row: Recorded, number: int, now: float) -> Collective:
    return Collective(row.operation, row.group, number, "queued", age=_age(row, now))


def _age(row: Recorded, now: float) -> float:
    return round(max(now - row.began, 0.0), 3)  # the clock may have been set back


def _entry(target: Any, address: int, record: Any) -> Recorded:
    data = target.memory.read(address, record.size)

    def word(name: str) -> int:
        return int(struct.unpack_from("<Q", data, record[name])[0])

    # "gloo:all_reduce", "nccl:send 0->1"
    backend, _, operation = target.cxx.text(address + record["profiling_name_"]).partition(":")
    operation = operation.partition(" ")[0]
    return Recorded(
        group=target.cxx.text(address + record["pg_name_"] + _STRING),
        backend=backend,
        operation=RECORDED.get(operation, operation),
        number=word("op_id_"),
        sequence=word("collective_seq_id_"),
        began=word("time_created_") / _SECOND,
        is_retired=bool(data[record["retired_"]]),
        is_between_two=bool(data[record["isP2P_"]]),
    )
