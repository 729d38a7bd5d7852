"""Records as events of the Trace Event Format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, TextIO

from ..probes import durations, recording
from .collector import Argument
from .python_lines import PythonLine

_AT_ONCE = 4096  # records
Describe = Callable[[int, int], "tuple[str, tuple[Argument, ...], bool] | None"]


def write(
    spool: BinaryIO,
    to: TextIO,
    pid: int,
    clock_of: Callable[[int], tuple[int, float]],
    describe: Describe,
    lines: Mapping[tuple[int, int, int], PythonLine | None],
) -> int:
    """Write the records of a spool file as JSON. Returns how many there were.

    ``clock_of`` gives the time that is shown as 0, and how many units a second has, for the number of a source;
    ``describe`` gives the name and the
    arguments of a probe, and whether its records are of returns, by the number of its source and its own; None for
    no probe. A call that has returned is one event.
    """
    count = 0
    returned = {
        (record[recording.NUMBER], record[recording.THREAD] & 0xFFFFFFFF, record[recording.TIME])
        for record in _records(spool)
        if (of := describe(record[recording.NUMBER], record[recording.THREAD] >> 32)) is not None and of[2]
    }
    to.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
    separator = ""
    for record in _records(spool):
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
        began, units = clock_of(source)
        lasts = {"ph": "X", "dur": record[durations.DURATION] / units * 1e6}
        event = {
            "name": name,
            **(lasts if is_return else {"ph": "i", "s": "t"}),
            "ts": (record[recording.TIME] - began) / units * 1e6,
            "pid": pid,
            "tid": tid,
            "args": told,
        }
        to.write(separator + json.dumps(event))
        separator = ",\n"
        count += 1
    to.write("\n]}\n")
    return count


def _records(spool: BinaryIO) -> Iterator[memoryview]:
    spool.seek(0)
    while data := spool.read(_AT_ONCE * recording.RECORD):
        words = memoryview(data).cast("Q")
        for at in range(0, len(words), recording.WORDS):
            yield words[at : at + recording.WORDS]
