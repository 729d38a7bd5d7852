"""What a process and its threads are called, learnt while they run: one that has ended has no name any more."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field


@dataclass
class ThreadNames:
    """``pid`` gives the process, once there is one."""

    pid: Callable[[], int]
    process: str | None = None
    threads: dict[int, str] = field(default_factory=dict)
    _asked: set[int] = field(default_factory=set)

    def learn(self, tids: Collection[int]) -> None:
        """Ask for the names of threads that were not met before."""
        for tid in set(tids) - self._asked:
            self._asked.add(tid)
            pid = self.pid()
            self.process = self.process or _name(pid, pid)
            name = _name(pid, tid)
            if name is not None:
                self.threads[tid] = name


def _name(pid: int, tid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().rstrip("\n")
    except OSError:  # it has ended, or is one of a forked child
        return None
