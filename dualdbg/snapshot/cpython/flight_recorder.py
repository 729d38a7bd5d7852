"""c10d's Flight Recorder in memory: the newest operations of a process, also where it writes no file.

It is on unless TORCH_FR_BUFFER_SIZE is 0 (torch/csrc/distributed/c10d/FlightRecorder.hpp). gloo records collectives in
it, but neither send nor recv; NCCL records both, and puts aside what its watchdog has found done. Of operations that
are begun together, as one, only their end is put aside (ProcessGroupNCCL::endCoalescing): the parts have no events.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from ...known.python_files import is_of_a_library
from ...known.torch_operations import FLIGHT_RECORDERS, POINT_TO_POINT, RECORDED
from ...symbols.address_space import Module
from ..facts import Collective, ProcessGroup

_NEWEST = 64  # entries that are looked at; it has 2000
_MOST_ENTRIES = 1 << 24
_STRING = 32  # bytes of one of libstdc++; in a tuple of two the latter lies in front
_SECOND = 1e9
_WITH_QUEUE = "gloo"
_MOST_FRAMES, _MOST_TENSORS, _MOST_DIMENSIONS = 500, 1000, 64
# "gloo:all_reduce", "nccl:send 0->1", "nccl:recv 1<-0": the ranks are those in the group.
_NAME = re.compile(r"(?P<backend>[^:]*):(?P<operation>\S*)(?: \d+(?:->|<-)(?P<peer>\d+))?")

Place = Callable[[int, int], tuple[str | None, str]]
"""From a code object and the offset of an instruction in it to the file, and to what people are told of the place."""


@dataclass(frozen=True)
class Recorded:
    """One operation of a backend. ``number`` counts all of a group, ``sequence`` its collectives, or what is between
    two ranks. ``began``: seconds since 1970. ``peer``: the other rank, in the group.

    ``is_retired``: the backend has put it aside, done or timed out. What follows is only read of others: ``caller``,
    the line of the user that has called it, and what is known of its tensors, as in :class:`Collective`.
    """

    group: str
    backend: str
    operation: str
    number: int
    sequence: int
    began: float
    is_retired: bool
    is_between_two: bool
    peer: int | None = None
    caller: str | None = None
    sizes: tuple[int, ...] | None = None
    dtype: str | None = None
    bytes: int | None = None


def recorders(modules: Sequence[Module]) -> list[int]:
    """The addresses of the pointers to the recorders of a process. It may take 0.1 s: not for one that stands still."""
    return [
        symbol.address + module.bias
        for module in modules
        for library, name in FLIGHT_RECORDERS
        if module.library is not None and module.path.rpartition("/")[2].startswith(library)
        for symbol in module.library.find_data(name)
    ]


def read_recorder(target: Any, pointer: int, place: Place) -> Iterator[Recorded]:
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
        yield _entry(target, first + (following - back) % count * entry.size, entry, place)


def with_recorded(
    group: ProcessGroup, works: Sequence[Collective], rows: Sequence[Recorded], now: float
) -> tuple[ProcessGroup, list[Collective]]:
    """A group and its operations with what the recorder knows of them: ``rows`` are those of the group, the newest
    first. ``now``: seconds since 1970. Pure.

    The queue of gloo says what is not done, and the recorder only since when. Of a backend whose queue is not known it
    is what the backend has not put aside. Several operations that began as one have one number: they are left out.
    """
    # A group may have a backend for each kind of device: of these it is one.
    of_backend = [row for row in rows if row.backend == group.backend]
    rows = [row for row in of_backend if not row.is_between_two]
    pairs = [
        _collective(row, row.sequence, now)
        for row in reversed(of_backend)
        if row.is_between_two and not row.is_retired and row.operation in POINT_TO_POINT
    ]
    if not rows:
        return group, [*works, *pairs]
    by_number = {(row.number, row.operation): row for row in rows}
    if group.backend == _WITH_QUEUE:
        aged = [
            replace(work, age=_age(row, now), caller=row.caller)
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
    return replace(group, last=last, sequence=max(numbers)), [*waiting, *pairs]


def _collective(row: Recorded, number: int, now: float) -> Collective:
    return Collective(
        row.operation,
        row.group,
        number,
        "queued",
        sizes=row.sizes,
        dtype=row.dtype,
        bytes=row.bytes,
        peer=row.peer,
        age=_age(row, now),
        caller=row.caller,
    )


def _age(row: Recorded, now: float) -> float:
    return round(max(now - row.began, 0.0), 3)  # the clock may have been set back


def _entry(target: Any, address: int, record: Any, place: Place) -> Recorded:
    data = target.memory.read(address, record.size)

    def word(name: str) -> int:
        return int(struct.unpack_from("<Q", data, record[name])[0])

    text = target.cxx.text(address + record["profiling_name_"])
    told = _NAME.match(text)
    backend, operation = (told["backend"], told["operation"]) if told else ("", text)
    is_between_two = bool(data[record["isP2P_"]])
    has_no_end = backend != _WITH_QUEUE and not word("end_")
    found = Recorded(
        group=target.cxx.text(address + record["pg_name_"] + _STRING),
        backend=backend,
        operation=RECORDED.get(operation, operation),
        number=word("op_id_"),
        sequence=word("p2p_seq_id_" if is_between_two else "collective_seq_id_"),
        began=word("time_created_") / _SECOND,
        is_retired=bool(data[record["retired_"]]) or has_no_end,
        is_between_two=is_between_two,
        peer=int(told["peer"]) if told and told["peer"] else None,
    )
    if found.is_retired:
        return found
    caller = _caller(target, word("traceback_"), place)
    return replace(_with_tensors(target, found, address, record), caller=caller)


def _caller(target: Any, traceback: int, place: Place) -> str | None:
    """The innermost line of the user in a ``torch::CapturedTraceback``; without one, the innermost of all."""
    if not traceback:
        return None
    whole = target.layout.record("torch::CapturedTraceback")
    frame = target.layout.record("torch::CapturedTraceback::PyFrame")
    first, count = target.cxx.vector(traceback + whole["frames_"], frame.size)
    innermost = None
    for at in range(min(count, _MOST_FRAMES)):
        code = target.memory.u64(first + at * frame.size + frame["code"])
        file, text = place(code, target.memory.i32(first + at * frame.size + frame["lasti"]))
        if file is not None and not is_of_a_library(file):
            return text
        innermost = innermost or text
    return innermost


def _with_tensors(target: Any, found: Recorded, address: int, record: Any) -> Recorded:
    """With size and type of the first tensor that goes in, and the bytes of all of these."""
    dtypes = import_module("dualdbg_helpers.torch.dtypes").BY_SCALAR_TYPE
    names = target.layout.enum("c10::ScalarType")
    memory, cxx = target.memory, target.cxx
    first, count = cxx.vector(address + record["input_dtypes_"], 1)
    kinds = [dtypes.get(names.get(each)) for each in memory.read(first, min(count, _MOST_TENSORS))]
    first, count = cxx.small_vector(address + record["input_dims_"], 8)
    dimensions = memory.words(first, min(count, _MOST_TENSORS))
    first, count = cxx.small_vector(address + record["sizes_"], 8)
    if not kinds or None in kinds or len(kinds) != len(dimensions) or max(dimensions) > _MOST_DIMENSIONS:
        return found
    if sum(dimensions) > count:
        return found
    flat = memory.words(first, sum(dimensions))
    shapes, at = [], 0
    for each in dimensions:
        shapes.append(tuple(flat[at : at + each]))
        at += each
    size = sum(math.prod(shape) * kind.size for shape, kind in zip(shapes, kinds, strict=True))
    return replace(found, sizes=shapes[0], dtype=kinds[0].name, bytes=size)
