"""What is known of the probes in the target: which there are, which are in force, which hits were told."""

from __future__ import annotations

import bisect
from typing import NamedTuple, Sequence


class Ring(NamedTuple):
    """Where records of traces are taken down (dualdbg/probes/recording.py): addresses in the target, and sizes."""

    control: int
    block: int  # bytes of a control block
    records: int
    capacity: int
    record: int  # bytes


class Probe(NamedTuple):
    """A probe as dualdbg/probes/thunk.py has made it; ``number`` is gdb's breakpoint that it stands for.

    One that traces may have a number that gdb has no breakpoint of. ``key`` is the number too, or less than 0 for one
    at a way out of the function: it goes with the other.
    """

    key: int
    number: int
    address: int
    site: int
    original: bytes
    jump: bytes
    thunk: int
    code: bytes
    saved: "Sequence[str]"
    starts: "list[int]"
    states: "Sequence[tuple[int, int, Sequence[str]]]"
    sent: int
    moved: "dict[int, int]"  # address of a moved instruction -> that of the original
    back: "dict[int, int]"  # the other way
    counter: int
    limit: int  # the hit from which on it stops; 0 where it does not count
    traces: bool  # it never stops: gdb's breakpoint, if there is one, is off for good
    ring: "Ring | None"
    calls: (
        "tuple[int, int]"  # address and size of what is known of calls that have not returned (durations.py)
    )
    head: int  # the original instruction before which it does its work
    asks: bool  # it makes system calls

    @property
    def end(self) -> int:
        """The address behind its code."""
        return self.thunk + len(self.code)

    def state_at(self, pc: int) -> "tuple[int, Sequence[str]]":
        """How many registers are on the stack before an instruction of its code, and what is true by then."""
        _, pushed, marks = self.states[bisect.bisect_right(self.starts, pc) - 1]
        return pushed, marks


class State:
    """Of the process ``pid``."""

    def __init__(self) -> None:
        self.pid = 0
        self.probes: "dict[int, Probe]" = {}  # by key, as below
        self.exits: "dict[int, list[int]]" = {}  # number -> keys of those at ways out
        self.thunks: "list[Probe]" = []  # every one that was ever written, by address: a thread may be there yet
        self.starts: "list[int]" = []  # of their code
        self.armed: "dict[int, Probe]" = {}
        self.passed: "dict[int, int]" = {}  # thread -> where it stands, at a hit that was told
        self.known: "set[int]" = set()  # those threads of which gdb itself knows that
        self.told: "dict[int, int]" = {}  # gdb's number of a breakpoint -> its hits that gdb itself did not see
        self.missed = False  # the process ran while a probe was not in force
        self.looked = False  # no stack leads into bytes that a jump takes
        self.signal = ""
        self.calls = False  # gdb calls a function of the program, or lets a thread stop where it stands

    def add(self, probes: "list[Probe]") -> None:
        """These are written now."""
        self.thunks = sorted([*self.thunks, *probes], key=lambda one: one.thunk)
        self.starts = [one.thunk for one in self.thunks]
        self.probes.update((one.key, one) for one in probes)
        for one in probes:
            if one.key != one.number:
                self.exits.setdefault(one.number, []).append(one.key)
        self.looked = False

    def thunk_at(self, pc: int) -> "Probe | None":
        """The probe whose code is at an address."""
        at = bisect.bisect_right(self.starts, pc) - 1
        return self.thunks[at] if at >= 0 and pc < self.thunks[at].end else None

    def remove(self, number: int) -> None:
        """The probe of this number is no more, nor are those that go with it."""
        for key in (number, *self.exits.pop(number, ())):
            self.probes.pop(key, None)
        self.told.pop(number, None)

    def forget(self) -> None:
        """The process runs another program, or it is another process."""
        self.__init__()  # type: ignore[misc]


now = State()
