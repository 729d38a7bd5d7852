"""Records as events of the Trace Event Format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, TextIO

from ..probes import recording
from .collector import Argument
from .python_lines import PythonLine

_AT_ONCE = 4096  # records
Describe = Callable[[int, int], "tuple[str, tuple[Argument, ...]] | None"]


def write(
    spool: BinaryIO,
    to: TextIO,
    pid: int,
    began: int,
    ticks_a_second: float,
    describe: Describe,
    lines: Mapping[tuple[int, int, int], PythonLine | None],
) -> int:
    """Write the records of a spool file as JSON. Returns how many there were.

    ``began`` is the time that is shown as 0, in ticks of the processor's counter; ``describe`` gives the name and the
    arguments of a probe, by the number of its source and its own; None for no probe.
    """
    count = 0
    to.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
    separator = ""
    for record in _records(spool):
        whose = record[recording.THREAD]
        source, probe, tid = record[recording.NUMBER], whose >> 32, whose & 0xFFFFFFFF
        described = describe(source, probe)
        if described is None:
            continue
        name, arguments = described
        told: dict[str, object] = {
            one.name: hex(word) if one.pointer else one.value(word)
            for one in arguments
            for word in [record[recording.ARGUMENTS + one.register]]
        }
        line = lines.get((source, record[recording.CODE], record[recording.INSTRUCTION]))
        if line is not None:
            told["python"] = line.text
        event = {
            "name": name,
            "ph": "i",
            "s": "t",
            "ts": (record[recording.TIME] - began) / ticks_a_second * 1e6,
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
