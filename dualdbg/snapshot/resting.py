"""Threads that have slept since an earlier sample: what was read of them then is so still, and nobody has to stop them.

The kernel counts how often a thread was given a processor (Documentation/scheduler/sched-stats.rst). While the count is
the same it has not run. One that has (to hold it makes it run, too) has to be in the same system call, with the same
bytes on its stack. One that was woken and still waits for a processor counts as asleep.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import DualdbgError
from ..shared.proc_files import read_short
from .linux.memory import PAGE, Memory, ProcessMemory
from .linux.procfs import ThreadFacts
from .linux.registers import Registers
from .unwind.unwinder import Unwound

_MOST_STACK = 1 << 18  # bytes; to compare more takes longer than to hold the thread


@dataclass
class Rest:
    """A thread that sleeps: ``call`` is the text of its file ``syscall``, ``turns`` that of its ``schedstat``, which is
    None until it is known to sleep as it did when it was held. ``stack`` begins with the page of the stack pointer.
    ``unwound``: its frames, once somebody wanted them."""

    facts: ThreadFacts
    call: bytes
    registers: Registers
    stack: bytes
    turns: bytes | None = None
    unwound: Unwound | None = None

    def give_stack(self, memory: ProcessMemory) -> None:
        """What the thread has on its stack is known to ``memory`` from now on."""
        memory.give(page_of(self.registers.sp), self.stack)


def page_of(address: int) -> int:
    """Where the page begins that has an address."""
    return address // PAGE * PAGE


class Resting:
    """The threads of a process that were asleep when they were held."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._rests: dict[int, Rest] = {}

    def forget(self) -> None:
        """The process has other files now, or was let go of: all are held once more."""
        self._rests.clear()

    def find(self) -> dict[int, Rest]:
        """Those that still sleep as they did, by thread id."""
        self._rests = {tid: rest for tid, rest in self._rests.items() if self._sleeps_on(tid, rest)}
        return dict(self._rests)

    def are_unmoved(self, rests: Mapping[int, Rest]) -> bool:
        """Whether none of these has run since it was found."""
        return all(self._read(tid, "schedstat") == rest.turns for tid, rest in rests.items())

    def calls(self, threads: Iterable[ThreadFacts]) -> dict[int, bytes]:
        """The system calls of those that sleep, for :meth:`learn` after they were held."""
        asleep = [thread.tid for thread in threads if thread.state == "S"]
        return {tid: call for tid in asleep if (call := self._read(tid, "syscall")) is not None}

    def learn(
        self,
        threads: Iterable[ThreadFacts],
        calls: Mapping[int, bytes],
        registers: Mapping[int, Registers],
        memory: Memory,
        ends: Mapping[int, int],
    ) -> dict[int, Rest]:
        """The threads that were held where ``calls`` had told before that they sleep. ``memory`` has their stacks,
        which end at ``ends``."""
        found = {}
        for thread in threads:
            call, known, end = calls.get(thread.tid), registers.get(thread.tid), ends.get(thread.tid)
            if call is None or known is None or end is None or end - known.sp > _MOST_STACK:
                continue
            words = call.split()
            sp, pc = (int(word, 16) for word in words[-2:]) if len(words) > 2 else (0, 0)  # 0: "running"
            if sp != known.sp or not known.slept_at(pc):
                continue  # it has woken since
            found[thread.tid] = Rest(
                thread, call, known, memory.read(page_of(known.sp), end - page_of(known.sp))
            )
        self._rests.update(found)
        return found

    def _sleeps_on(self, tid: int, rest: Rest) -> bool:
        turns = self._read(tid, "schedstat")
        if turns == rest.turns or turns is None:
            return turns is not None
        if self._read(tid, "syscall") != rest.call or not self._has_stack(rest):
            return False
        rest.turns = turns
        return self._read(tid, "schedstat") == turns

    def _has_stack(self, rest: Rest) -> bool:
        try:
            sp, below = rest.registers.sp, rest.registers.sp % PAGE
            return ProcessMemory(self._pid).read(sp, len(rest.stack) - below) == rest.stack[below:]
        except DualdbgError:
            return False

    def _read(self, tid: int, name: str) -> bytes | None:
        try:
            return read_short(f"/proc/{self._pid}/task/{tid}/{name}") or None
        except OSError:
            return None  # it has ended, or this kernel does not tell
