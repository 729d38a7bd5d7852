"""What a step costs: its time, the CPU time of the processes that take part, and how often gdb was asked."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock; seconds of CPU time of dualdbg, gdb and the target together; requests to gdb."""

    wall: float
    cpu: float
    requests: int

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.wall - other.wall, self.cpu - other.cpu, self.requests - other.requests)


class Meter:
    """Reads the cost of a session so far."""

    def __init__(self, session: Any) -> None:
        self._pending = session.native._process._pending
        self._gdb = session.native.pid
        self._target = session.loop.state.pid

    def read(self) -> Cost:
        cpu = time.process_time() + self.cpu_of_gdb() + _cpu(self._target)
        return Cost(time.perf_counter(), cpu, self._pending._last_token)

    def cpu_of_gdb(self) -> float:
        """Seconds that gdb has run."""
        return _cpu(self._gdb)


def _cpu(pid: int) -> float:
    """Seconds that the threads of a process have run (the kernel's Documentation/scheduler/sched-stats.rst)."""
    nanoseconds = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # it has just ended
            nanoseconds += int((thread / "schedstat").read_text().split()[0])
    return nanoseconds / 1e9
