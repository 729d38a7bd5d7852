"""Records as events of the Trace Event Format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing read."""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TextIO

from ..probes import durations, recording
from .collector import Argument
from .python_lines import PythonLine
from .thread_names import ThreadNames

_AT_ONCE = 4096  # records
Describe = Callable[[int, int], "tuple[str, tuple[Argument, ...], bool] | None"]


@dataclass
class _Calls:
    """The calls of a thread that were timed: when they begin and end, and which records they are."""

    begins: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))
    records: array[int] = field(default_factory=lambda: array("q"))

    def not_nested(self) -> Iterator[int]:
        """The records of those that begin within another call and end after it: generators do, and coroutines."""
        begins, ends = self.begins, self.ends
        around: list[int] = []
        for one in sorted(range(len(begins)), key=lambda one: (begins[one], -ends[one])):
            while around and ends[around[-1]] <= begins[one]:
                around.pop()
            if around and ends[one] > ends[around[-1]]:
                yield self.records[one]
            else:
                around.append(one)


def write(
    spool: BinaryIO,
    to: TextIO,
    names: ThreadNames,
    clock_of: Callable[[int], tuple[int, float]],
    describe: Describe,
    lines: Mapping[tuple[int, int, int], PythonLine | None],
) -> int:
    """Write the records of a spool file as JSON. Returns how many there were.

    ``clock_of`` gives the time that is shown as 0, and how many units a second has, for the number of a source;
    ``describe`` gives the name and the
    arguments of a probe, and whether its records are of returns, by the number of its source and its own; None for
    no probe. A call that has returned is one event. Events with a duration lie within each other, as viewers want it;
    a call that does not is a pair of asynchronous events, which have a row of their own.
    """
    count, pid = 0, names.pid()
    returned = set()
    calls: defaultdict[int, _Calls] = defaultdict(_Calls)
    clocks: dict[int, tuple[int, float]] = {}

    def times(record: memoryview) -> tuple[int, int]:
        """When it begins and ends, in nanoseconds."""
        source = record[recording.NUMBER]
        if source not in clocks:
            clocks[source] = clock_of(source)
        began, units = clocks[source]
        since = record[recording.TIME] - began
        return round(since * 1e9 / units), round((since + record[durations.DURATION]) * 1e9 / units)

    for at, record in enumerate(_records(spool)):
        of = describe(record[recording.NUMBER], record[recording.THREAD] >> 32)
        if of is not None and of[2]:
            tid = record[recording.THREAD] & 0xFFFFFFFF
            returned.add((record[recording.NUMBER], tid, record[recording.TIME]))
            one = calls[tid]
            for to_, value in zip((one.begins, one.ends, one.records), (*times(record), at), strict=True):
                to_.append(value)
    apart = {at for one in calls.values() for at in one.not_nested()}
    calls.clear()
    threads: set[int] = set()
    to.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
    separator = ""
    for at, record in enumerate(_records(spool)):
        whose = record[recording.THREAD]
        source, probe, tid = record[recording.NUMBER], whose >> 32, whose & 0xFFFFFFFF
        described = describe(source, probe)
        if described is None:
            continue
        name, arguments, is_return = described
        if not is_return and (source, tid, record[recording.TIME]) in returned:
            continue
        told: dict[str, object] = {
            one.name: hex(word) if one.pointer else one.value(word)
            for one in arguments
            for word in [record[recording.ARGUMENTS + one.register]]
        }
        line = lines.get((source, record[recording.CODE], record[recording.INSTRUCTION]))
        if line is not None:
            told["python"] = line.text
        begins, ends = times(record)
        event: dict[str, Any] = {"name": name, "ts": begins / 1e3, "pid": pid, "tid": tid, "args": told}
        if not is_return:
            events = [{**event, "ph": "i", "s": "t"}]
        elif at in apart:
            both = {**event, "cat": "calls", "id": at}
            events = [{**both, "ph": "b"}, {**both, "ph": "e", "ts": ends / 1e3, "args": {}}]
        else:
            events = [{**event, "ph": "X", "dur": (ends - begins) / 1e3}]
        for one_event in events:
            to.write(separator + json.dumps(one_event))
            separator = ",\n"
        threads.add(tid)
        count += 1
    for row in _metadata(names, threads):
        to.write(separator + json.dumps(row))
        separator = ",\n"
    to.write("\n]}\n")
    return count


def _metadata(names: ThreadNames, threads: set[int]) -> Iterator[dict[str, object]]:
    """What the process and its threads are called."""
    pid = names.pid()
    if names.process is not None:
        yield {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": names.process}}
    for tid in sorted(threads & names.threads.keys()):
        yield {"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": names.threads[tid]}}


def _records(spool: BinaryIO) -> Iterator[memoryview]:
    spool.seek(0)
    while data := spool.read(_AT_ONCE * recording.RECORD):
        words = memoryview(data).cast("Q")
        for at in range(0, len(words), recording.WORDS):
            yield words[at : at + recording.WORDS]
