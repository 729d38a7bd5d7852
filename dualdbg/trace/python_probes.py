"""Python functions and lines in a trace: what a traced program's interpreter is told, and what it tells."""

from __future__ import annotations

import ast
import marshal
import mmap
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..probes import recording
from ..probes.recording import Shared
from .memory import TraceMemory
from .python_lines import PythonLine

FOLDER = Path(__file__).parent.parent / "target" / "tracing"
_SETTINGS = "DUALDBG_TRACE"  # the name that its sitecustomize.py knows
_TOLD = 8 << 20  # bytes for the names of callers
_MARSHAL = 2  # the oldest form that is the same in every CPython
_NO_PYTHON = "the interpreter has not loaded what counts there (-I, -E, -S, or a program that is none)"


@dataclass
class PythonProbe:
    """A function, by the ``line`` and the ``name`` of its code; or a line, where that is None."""

    title: str
    file: str
    line: int
    name: str | None = None
    id: int = 0  # that of the place in the trace
    probe: int = 0
    returns: int = 0

    @property
    def place(self) -> tuple[str, int, str | None]:
        """Two with the same place would count the same."""
        return self.file, self.line, self.name


@dataclass
class ToldLines:
    """Where Python probes were hit from, as the program tells it."""

    told: mmap.mmap
    failed: str | None = None
    ended: str | None = None  # why it did not count all the time
    version: tuple[int, ...] | None = None
    _read: int = 8
    _lines: dict[int, PythonLine] = field(default_factory=dict)

    def of(self, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], PythonLine | None]:
        """The lines of pairs of their number and nothing."""
        self.look()
        return {place: self._lines.get(place[0]) for place in places}

    def state_offsets(self) -> Sequence[int]:
        """Nobody needs one."""
        return ()

    def look(self) -> None:
        """Read what was told since."""
        end = int.from_bytes(self.told[:8], "little")
        rows = self.told[self._read : end].splitlines()
        self._read = max(self._read, end)
        for text in rows:
            try:
                row = ast.literal_eval(text.decode())
                if "site" in row:
                    self._lines[row["site"]] = PythonLine(row["function"], row["file"], row["line"] or None)
                self.failed = row.get("failed", self.failed)
                self.ended = row.get("ended", self.ended)
                self.version = tuple(row["version"]) if "version" in row else self.version
            except (ValueError, SyntaxError, TypeError, KeyError, AttributeError, RecursionError):
                self.failed = "what it told cannot be read: something else has written there"


class PythonMemory:
    """The memory of the probes of one program; :meth:`environment` brings it there. Raises OSError."""

    def __init__(self, records: bool) -> None:
        self.shared = Shared.for_records(1) if records else Shared()
        self._descriptors = [_made(size) for size in (self.shared.size, _TOLD)]
        self.memory = TraceMemory(f"/proc/self/fd/{self._descriptors[0]}", self.shared, 0)
        self.memory.state_offsets = (1,)  # nobody has to look for the place of thread states
        self._told = mmap.mmap(self._descriptors[1], _TOLD)
        self._told[:8] = (8).to_bytes(8, "little")
        self.lines = ToldLines(self._told)

    def add(self, probes: Sequence[PythonProbe]) -> None:
        """Give them numbers. Raises ValueError where there are no more."""
        for one in probes:
            one.probe, one.returns = self.memory.new_probe(), self.memory.new_probe()
            self.memory.new_probe()  # the time of the returns

    def environment(
        self, probes: Sequence[PythonProbe], what: Sequence[str], times: bool, inherited: str | None
    ) -> dict[str, str]:
        """The variables with which the program is to be started.

        ``what`` is what its interpreter runs; ``inherited``: its own PYTHONPATH.
        """
        records, told = (f"/proc/{os.getpid()}/fd/{one}" for one in self._descriptors)
        settings: dict[str, Any] = {
            "memory": records,
            "size": self.shared.size,
            "counters": self.shared.counter(0),
            "records": self.shared.records(0),
            "head": self.shared.control(0) + recording.HEAD,
            "tail": self.shared.control(0) + recording.TAIL,
            "capacity": self.shared.capacity,
            "record": recording.RECORD,
            "told": told,
            "told_size": _TOLD,
            "what": list(what),
            "times": times,
            "pythonpath": inherited,
            "probes": [
                {
                    "file": one.file,
                    "line": one.line,
                    "name": one.name,
                    "probe": one.probe,
                    "returns": one.returns,
                }
                for one in probes
            ],
        }
        path = os.pathsep.join([str(FOLDER), *([inherited] if inherited else [])])
        return {_SETTINGS: marshal.dumps(settings, _MARSHAL).hex(), "PYTHONPATH": path}

    def why_not(self) -> str | None:
        """Why nothing is counted; None where it is."""
        self.lines.look()
        if self.lines.failed is not None:
            return f"what counts there has failed: {self.lines.failed}"
        return None if self.lines.version is not None else _NO_PYTHON

    def close(self) -> None:
        """Give back what is ours. The memory of the records is closed with the others."""
        for one in self._descriptors:
            os.close(one)
        self._told.close()


def _made(size: int) -> int:
    descriptor = os.memfd_create("dualdbg-trace", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, size)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
