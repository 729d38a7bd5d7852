"""The machine code of a probe: evaluate, count, say so where it holds, do the moved instructions, go on. Pure.

The stack is as the function left it whenever one of its own instructions runs, and nothing is called: who unwinds never
meets a frame of ours. A hit is a signal that the thread sends to itself, and that is ignored: its tracer sees it, and
where there is none any more nothing happens. There is no trap instruction that could end a program whose debugger
died. A probe that traces tells nobody.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from . import durations
from .bytecode import CannotCompile, Operation
from .conditions import RT_SIGPROCMASK, STACK, ConditionWriter
from .machine import RED_ZONE, Row, Writer, register
from .placement import JUMP, CannotPlace, Placement, iced
from .recording import Trace, count, increase, only_in, record

REACH = (1 << 31) - (1 << 16)  # bytes that a jump can go, less some
TRAP = 0xCC
_FOR_CALLS = ("rax", "rcx", "r11", "rdi", "rsi", "rdx", "r10")  # a system call's own
_FOR_COUNT = ("rax",)
_FOR_RECORD = ("rax", "rcx", "rdx", "r8", "r9", "r11")
_FOR_TIMES = (*_FOR_RECORD, "r10")
_GETPID, _GETTID, _TGKILL = 39, 186, 234  # asm/unistd_64.h
_EFAULT = 14  # asm-generic/errno-base.h
_UNBLOCK, _SETMASK = 1, 2  # asm-generic/signal-defs.h
MASK = "mask"
"""The name of what is saved of a thread that is no register: the signals that it blocks."""
_SENT = "sent"


@dataclass(frozen=True)
class Wish:
    """What is to be evaluated: a condition (else always true), then a count (stop from this hit on), in one thread.

    ``thread``: the thread pointer of the only one that is to stop; ``tid``: the id of the only one that a trace counts,
    be it there by now or not. ``known``: memory that is there as long as the
    function is, as pairs of start and end. ``trace``: it never stops, and does this instead. ``call``: the placement
    is a way out, whose calls are hits of this probe.
    """

    condition: tuple[Operation, ...] | None = None
    hits: int | None = None
    thread: int | None = None
    known: tuple[tuple[int, int], ...] = ()
    trace: Trace | None = None
    call: int | None = None
    tid: int | None = None


@dataclass(frozen=True)
class Probe:
    """Machine code that is ready to be written.

    ``saved``: what is pushed, in order, ``flags`` first. ``states``: where an instruction begins, how many of them are
    on the stack there (-1: the red zone is not left yet), and what is true by then: ``counted``, the hit is counted;
    ``masked``, the thread blocks other signals than it wants to; ``passed``, the hit of a trace is counted;
    ``reserving``, a record is reserved if the zero flag is set; ``reserved``, it is, and not complete; ``claimed``, the
    place of a call, to which r11 points, is not free for others; ``claiming``, it is not if the zero flag is set;
    ``reading``, the instruction reads memory for a condition, and may fault; ``asking``, it is before a system call.
    ``sent``: where the signal has been sent; 0 where none is. ``moved``: pairs of an address in the thunk and that of
    the original instruction.
    """

    site: int
    jump: bytes
    original: bytes
    thunk: int
    code: bytes
    saved: tuple[str, ...]
    states: tuple[tuple[int, int, tuple[str, ...]], ...]
    sent: int
    moved: tuple[tuple[int, int], ...]


def can_lead(site: int, thunk: int) -> bool:
    """Whether a jump from ``site`` to code at ``thunk`` has no trap instruction among its bytes."""
    return TRAP not in _jump(site, thunk)


def _jump(site: int, thunk: int) -> bytes:
    distance = thunk - (site + JUMP)
    if abs(distance) > REACH:
        raise CannotPlace("there is no room within 2 GB of it")
    return b"\xe9" + struct.pack("<i", distance)


def build(placement: Placement, wish: Wish, thunk: int, counter: int, signal: int) -> Probe:
    """The probe with its code at ``thunk``, and its counter of 64 bits at ``counter``.

    Raises CannotCompile or CannotPlace. The bytes of the jump have no trap instruction among them, which whoever cleans
    up behind a dead debugger would take for a breakpoint.
    """
    jump = _jump(placement.site, thunk) + b"\x90" * (len(placement.original) - JUMP)
    if not can_lead(placement.site, thunk):
        raise CannotPlace("no address fits")
    if wish.condition is not None and wish.hits is not None:
        raise CannotCompile("it has a condition and a count")
    trial = _Frame(placement, wish, counter, signal)
    trial.write([*STACK, *_FOR_CALLS])
    frame = _Frame(placement, wish, counter, signal)
    frame.write([name for name in (*STACK, *_FOR_CALLS) if name in trial.evaluated])
    writer = frame.writer
    encoder = iced.BlockEncoder(64)
    encoder.add_many([one.instruction for one in writer.rows])
    try:
        code = encoder.encode(thunk)
    except ValueError as error:
        raise CannotPlace(f"its first instructions cannot be moved: {error}") from error
    places = [one.ip for one in iced.Decoder(64, code, ip=thunk)]
    if len(places) != len(writer.rows):
        raise CannotPlace("its first instructions cannot be moved: they become longer")
    rows = list(zip(places, writer.rows, strict=True))
    states = tuple((place, row.pushed, row.marks) for place, row in rows if row.pushed is not None)
    sent = next((place for place, row in rows if _SENT in row.marks), 0)
    at = {id(row.instruction): place for place, row in rows}
    moved = tuple((at[id(copy)], one.ip) for copy, one in zip(frame.copies, placement.moved, strict=True))
    return Probe(
        placement.site, jump, placement.original, thunk, code, tuple(writer.saved), states, sent, moved
    )


@dataclass
class _Frame:
    """What is around the evaluation: registers are saved, the hit is told or taken down, the program goes on.

    ``copies``: the moved instructions. They have labels of ours and not their own addresses: a jump among them to the
    first of them leads to the function, where the next turn of a loop is a hit as the first one was.
    """

    placement: Placement
    wish: Wish
    counter: int
    signal: int
    writer: Writer = field(default_factory=Writer)
    evaluated: frozenset[str] = frozenset()  # the registers that the evaluation writes to
    copies: list[Any] = field(default_factory=list)

    def write(self, saved: Sequence[str]) -> None:
        """Write all of it. The evaluation may change the registers ``saved``."""
        if self.placement.is_exit:
            self._write_exit()
            return
        writer, wish = self.writer, self.wish
        self._false, self._true, self._refused, self._after = (writer.new_label() for _ in range(4))
        writer.load("LEA_R64_M", "rsp", "rsp", -RED_ZONE)
        writer.pushed = 0
        writer.push("flags")
        for name in saved:
            writer.push(name)
        depends = wish.thread is not None or wish.tid is not None or wish.condition is not None
        if depends and wish.trace is not None and wish.trace.times:
            durations.forget(writer, wish.trace)
        if wish.thread is not None:
            self._only_at(wish.thread)
        if wish.tid is not None and wish.trace is not None:
            only_in(writer, wish.trace, wish.tid, self._false)
        if wish.condition is not None:
            # Where a condition has no value gdb says why, and a trace goes on.
            undecided = self._true if wish.trace is None else self._false
            counts = wish.trace is not None and wish.trace.refused is not None
            refused = self._refused if counts else undecided
            ConditionWriter(writer, self.placement, wish.known, self._false, undecided, refused).write(
                wish.condition
            )
        if wish.hits is not None:
            self._count(wish.hits)
        writer.here(self._true)
        self.evaluated = frozenset(writer.changed)
        within = writer.pushed
        for name in self._needed():
            if name not in writer.saved[:within]:
                writer.push(name)
        if wish.trace is None:
            self._tell()
        else:
            count(writer, wish.trace)
            if wish.trace.takes_down:
                record(writer, wish.trace)
            if wish.trace.times:
                durations.begin(writer, wish.trace)
        while writer.pushed > within:
            writer.pop()
        if wish.trace is not None and depends:
            self._go_on(within)
        if wish.trace is not None and wish.trace.refused is not None:
            writer.here(self._refused)
            writer.ri("CMP_RM64_IMM8", "rax", -_EFAULT)
            writer.branch("JE_REL32_64", self._false)
            increase(writer, wish.trace, wish.trace.refused)
        writer.here(self._false)
        while writer.pushed > 0:
            writer.pop()
        writer.load("LEA_R64_M", "rsp", "rsp", RED_ZONE)
        for one in self.placement.moved:
            self._move(one)
        self.copies[0].ip = self._after
        writer.branch("JMP_REL32_64", self.placement.end)
        writer.rows[-1].pushed = None

    def _write_exit(self) -> None:
        """What comes before the way out is done first: the stack pointer is that of the call again."""
        writer, wish = self.writer, self.wish
        assert wish.trace is not None and wish.call is not None
        *before, last = self.placement.moved
        for one in before:
            self._move(one)
        writer.load("LEA_R64_M", "rsp", "rsp", -RED_ZONE)
        writer.pushed = 0
        for name in ("flags", *_FOR_TIMES):
            writer.push(name)
        durations.end(writer, wish.trace, wish.call)
        while writer.pushed > 0:
            writer.pop()
        writer.load("LEA_R64_M", "rsp", "rsp", RED_ZONE)
        self._move(last)

    def _move(self, one: Any) -> None:
        copy = one.copy()
        copy.ip = 0
        self.copies.append(copy)
        self.writer.rows.append(Row(copy, None))

    def _go_on(self, within: int) -> None:
        """A hit that was counted has a way out of its own: it is known of each instruction whether it is counted."""
        writer = self.writer
        while writer.pushed > 0:
            writer.pop()
        writer.load("LEA_R64_M", "rsp", "rsp", RED_ZONE)
        writer.pushed = -1
        writer.branch("JMP_REL32_64", self._after)
        writer.pushed = within
        writer.marks.clear()

    def _needed(self) -> Sequence[str]:
        if self.wish.trace is None:
            return _FOR_CALLS
        if self.wish.trace.times:
            return _FOR_TIMES
        return _FOR_RECORD if self.wish.trace.takes_down else _FOR_COUNT

    def _tell(self) -> None:
        """The thread sends the signal to itself, and takes it now. It may block the signal, for a while or for ever."""
        writer = self.writer
        writer.number("rax", 1 << (self.signal - 1))
        writer.push_slot("wanted")
        writer.push_slot(MASK)
        writer.number("rdi", _UNBLOCK)
        writer.load("LEA_R64_M", "rsi", "rsp", 8)
        writer.load("LEA_R64_M", "rdx", "rsp")
        writer.number("r10", 8)
        writer.system_call(RT_SIGPROCMASK)
        writer.marks.add("masked")
        writer.system_call(_GETPID)
        writer.rr("MOV_R64_RM64", "rdi", "rax")
        writer.system_call(_GETTID)
        writer.rr("MOV_R64_RM64", "rsi", "rax")
        writer.number("rdx", self.signal)
        writer.system_call(_TGKILL)
        writer.marks.add(_SENT)
        writer.add(iced.Instruction.create(iced.Code.NOPD))  # nobody else comes here
        writer.marks.remove(_SENT)
        writer.number("rdi", _SETMASK)
        writer.load("LEA_R64_M", "rsi", "rsp")
        writer.number("rdx", 0)
        writer.number("r10", 8)
        writer.system_call(RT_SIGPROCMASK)
        writer.marks.discard("masked")
        writer.load("LEA_R64_M", "rsp", "rsp", 16)
        writer.pushed -= 2

    def _only_at(self, pointer: int) -> None:
        """Its thread pointer lies at its beginning (System V ABI, "Thread-Local Storage")."""
        writer = self.writer
        place = iced.MemoryOperand(displ=0, displ_size=4, seg=iced.Register.FS)
        writer.add(iced.Instruction.create_reg_mem(iced.Code.MOV_R64_RM64, register("rax"), place))
        writer.changed.update(("rax", "r8"))
        writer.number("r8", pointer)
        writer.rr("CMP_R64_RM64", "rax", "r8")
        writer.branch("JNE_REL32_64", self._false)

    def _count(self, hits: int) -> None:
        """Goes on where this is hit number ``hits`` or a later one."""
        writer = self.writer
        place = iced.MemoryOperand(base=iced.Register.RIP, displ=self.counter, displ_size=8)
        writer.number("rax", 1)
        add = iced.Instruction.create_mem_reg(iced.Code.XADD_RM64_R64, place, register("rax"))
        add.has_lock_prefix = True
        writer.add(add)
        writer.marks.add("counted")
        limit = iced.MemoryOperand(base=iced.Register.RIP, displ=self.counter + 8, displ_size=8)
        writer.ri("ADD_RM64_IMM8", "rax", 1)
        writer.add(iced.Instruction.create_reg_mem(iced.Code.CMP_R64_RM64, register("rax"), limit))
        writer.branch("JL_REL32_64", self._false)
