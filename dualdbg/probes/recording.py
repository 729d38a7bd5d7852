"""The machine code that counts a hit and takes it down in memory that we share with the target. Pure.

The memory has a ring of records for each of some processors. A record is taken down in three steps: a place is
reserved, filled, and its number written. The reader sees by the number whether it is complete. A full ring takes no
record: nothing waits for the reader.

A thread may leave our code in between, by a jump out of a signal handler, or be killed in a forked child. The reader
gives such a place up when it has waited for a while, and nobody uses that again, unless the thread was only slow: it
writes the number in the end, and the place is in use as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .machine import RED_ZONE, Writer, register
from .placement import iced

RECORD = 96  # bytes
WORDS = RECORD // 8
# Words of a record: its number (0: the place was never used), time, thread and probe, the address to which the
# function returns, code object, instruction, then the registers of the first six whole numbers (System V AMD64 ABI).
NUMBER, TIME, THREAD, CALLER, CODE, INSTRUCTION, ARGUMENTS = range(7)
REGISTERS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
NOTHING = 0xFFFFFFFF
"""The probe of a record that was begun, and is none."""
GIVEN_UP = (1 << 64) - 1
"""The number of a record that nobody has completed: its place is not to be used."""
_CONTROL = 128  # bytes of each ring's control block, so that two have no cache line in common
HEAD, TAIL = 0, 64
"""Where it has how many places were ever reserved, and how many the reader has read."""
_CONTROLS = 4096
_COUNTERS = 8192
PROBES = 1 << 15
"""How many probes may have a counter."""
_RINGS = _COUNTERS + 8 * PROBES
_MOST_RINGS = 16
_BYTES = 96 << 20  # of all rings: a power of two of records
_MIX = 0x3C6EF373  # odd, and a signed number of 32 bits
_MARK_BITS = 32
ADDRESS_BITS = (
    48  # of the words of a code object and of an instruction: those above are a mark of the code object
)
SLOT, SLOTS = 128, 1 << 14
"""Bytes of a place for a call that has not returned, and how many there are (durations.py)."""


@dataclass(frozen=True)
class Shared:
    """Where things are in the shared memory, in bytes from its beginning; ``capacity``: records of a ring.

    The first word is how far the thread's own pointer to its Python thread state is from the thread pointer, in its
    lower half; the upper half says the same of another one, which is taken where the first one is null. 0: not known.
    """

    rings: int = 0
    capacity: int = 0
    times: bool = False  # with places for calls

    @classmethod
    def for_records(cls, processors: int, times: bool = False) -> Shared:
        """With rings for so many processors."""
        rings = 1 << (min(max(processors, 1), _MOST_RINGS) - 1).bit_length()
        return cls(rings, 1 << (_BYTES // RECORD // rings).bit_length() - 1, times)

    @property
    def size(self) -> int:
        """Of what is shared, whole pages."""
        return -(-(_RINGS + self.rings * self.capacity * RECORD) // 4096) * 4096

    @property
    def private(self) -> int:
        """Of what follows it in the target and is its own: a forked child has other calls that have not returned."""
        return self.times * SLOT * SLOTS

    @property
    def calls(self) -> int:
        """The places for calls."""
        return self.size

    def counter(self, probe: int) -> int:
        """The counter of a probe, a word."""
        return _COUNTERS + 8 * probe

    def control(self, ring: int) -> int:
        """The control block of a ring."""
        return _CONTROLS + _CONTROL * ring

    def records(self, ring: int) -> int:
        """The first record of a ring."""
        return _RINGS + ring * self.capacity * RECORD


@dataclass(frozen=True)
class Identity:
    """What tells a code object from another one that is later at the same address, or is being made there.

    That is the number that it has from CPython 3.12 on, at ``version``, and what it points to. ``size`` is where str
    and bytes have their size, ``text`` where the text of a str begins.
    """

    version: int | None
    name: int
    filename: int
    lines: int
    first_line: int
    size: int
    text: int

    def mark(self, word: Callable[[int], int], code: int) -> int:
        """32 bits of it, as the machine code below makes them. ``word`` reads memory."""
        found = word(code + self.version) & (1 << 32) - 1 if self.version is not None else 0
        for pointer in self.pointers:
            found = _mixed(found ^ word(code + pointer))
        for pointer, last in self.contents:
            content = word(code + pointer)
            size = word(content + self.size)
            found = _mixed(_mixed(found ^ size) ^ word((content + size + last) & (1 << 64) - 1))
        return found >> _MARK_BITS

    @property
    def pointers(self) -> tuple[int, ...]:
        """The words of a code object that are part of it."""
        return self.name, self.filename, self.lines, self.first_line

    @property
    def contents(self) -> tuple[tuple[int, int], ...]:
        """A text and bytes that it points to, and where their last word is, less their size."""
        return (self.filename, self.text - 8), (self.lines, self.size + 8)


def _mixed(number: int) -> int:
    return number * _MIX & (1 << 64) - 1


def mark_of(code: int, instruction: int) -> int:
    """The mark in the words of a record."""
    return code >> ADDRESS_BITS << 64 - ADDRESS_BITS | instruction >> ADDRESS_BITS


@dataclass(frozen=True)
class PythonPlaces:
    """Where an interpreter keeps what a thread runs, in bytes.

    ``finalizing``: the address of a word that is not 0 once it ends, after which thread states may be gone. ``frame``:
    of the thread state; ``inner``: of what is there, where that is not the frame yet. The others are of the frame.
    ``owner`` has 3 in a frame that marks an entry from C; the frame of Python is the one before it.
    """

    finalizing: int
    frame: int
    inner: int | None
    code: int
    instruction: int
    owner: int | None
    previous: int
    has_small_instruction: bool  # 32 bits
    identity: Identity


@dataclass(frozen=True)
class Trace:
    """What a probe does that never stops: it counts; where there are rings it takes each hit down. ``tid``: where the
    thread id is, from the thread pointer. ``times``: its returns are to know the call.

    ``memory`` is where the target has the shared memory. ``is_entry``: the stack is that of a function's first
    instruction. ``python``: where the Python frame is read; None where that is not known. ``refused``: the counter of
    hits whose condition the kernel would not help to look at, where there is a condition.
    """

    probe: int
    memory: int
    shared: Shared
    tid: int | None = None
    is_entry: bool = True
    python: PythonPlaces | None = None
    times: bool = False
    refused: int | None = None

    @property
    def takes_down(self) -> bool:
        """Whether there is a record of each hit."""
        return self.tid is not None and self.shared.rings > 0


def count(writer: Writer, trace: Trace) -> None:
    """Count the hit: it is not done again when the thread is put back to its function from here on."""
    increase(writer, trace, trace.probe)
    writer.marks.add("passed")


def only_in(writer: Writer, trace: Trace, tid: int, otherwise: int) -> None:
    """Go to the label ``otherwise`` in all threads but that of this id; it changes rax."""
    thread_of(writer, trace, "eax")
    writer.ri("CMP_RM32_IMM32", "eax", tid)
    writer.branch("JNE_REL32_64", otherwise)


def increase(writer: Writer, trace: Trace, counter: int) -> None:
    """Add one to a counter; it changes rax."""
    writer.number("rax", trace.memory + trace.shared.counter(counter))
    inc = iced.Instruction.create_mem(
        iced.Code.INC_RM64, iced.MemoryOperand(base=iced.Register.RAX, displ=0, displ_size=0)
    )
    inc.has_lock_prefix = True
    writer.add(inc)


def record(writer: Writer, trace: Trace) -> None:
    """Take the hit down, which is counted, where there is room: rax, rcx, rdx, r8, r9 and r11 are saved by now; r10 too
    if it times.
    """
    # Until the record is there, a thread that is put back to its function counts the hit anew, and takes it down then.
    writer.marks.discard("passed")
    writer.marks.add("counted")
    with reserved(writer, trace, "r10" if trace.times else None):
        fill(writer, trace, "r11")
    writer.marks.discard("counted")
    writer.marks.add("passed")


@contextmanager
def reserved(writer: Writer, trace: Trace, time: str | None = None) -> Iterator[None]:
    """Within, rax is a record that is reserved, rdx the time, and so is the register ``time``; r8 and r9 are to stay
    as they are. It is not done where there is no room.
    """
    shared = trace.shared
    done, again = writer.new_label(), writer.new_label()
    writer.add(iced.Instruction.create(iced.Code.RDTSCP))  # the time, and in ecx the processor
    writer.ri("SHL_RM64_IMM8", "rdx", 32)
    writer.rr("OR_R64_RM64", "rdx", "rax")
    if time is not None:
        writer.rr("MOV_R64_RM64", time, "rdx")
    writer.ri("AND_RM32_IMM8", "ecx", shared.rings - 1)
    writer.ri("SHL_RM64_IMM8", "rcx", _CONTROL.bit_length() - 1)
    writer.number("r8", trace.memory + shared.control(0))
    writer.rr("ADD_R64_RM64", "r8", "rcx")
    writer.load("MOV_R64_RM64", "rax", "r8", HEAD)
    writer.here(again)
    writer.rr("MOV_R64_RM64", "r9", "rax")
    writer.load("SUB_R64_RM64", "r9", "r8", TAIL)
    writer.ri("CMP_RM64_IMM32", "r9", shared.capacity)
    writer.branch("JAE_REL32_64", done)
    writer.load("LEA_R64_M", "r9", "rax", 1)
    reserve = iced.Instruction.create_mem_reg(
        iced.Code.CMPXCHG_RM64_R64,
        iced.MemoryOperand(base=register("r8"), displ=HEAD, displ_size=0),
        register("r9"),
    )
    reserve.has_lock_prefix = True
    writer.add(reserve)
    writer.marks.add("reserving")
    writer.branch("JNE_REL32_64", again)
    writer.marks.remove("reserving")
    writer.marks.add("reserved")
    _address(writer, trace)
    number = iced.MemoryOperand(base=register("rax"), displ=8 * NUMBER, displ_size=8 if NUMBER else 0)
    writer.add(iced.Instruction.create_mem_i32(iced.Code.CMP_RM64_IMM8, number, -1))  # GIVEN_UP
    writer.branch("JE_REL32_64", done)
    yield
    writer.store("MOV_RM64_R64", "rax", 8 * NUMBER, "r9")
    writer.marks.remove("reserved")
    writer.here(done)


def _address(writer: Writer, trace: Trace) -> None:
    """r8 is the control block, r9 the number of the record; its address is put into rax."""
    shared = trace.shared
    writer.load("LEA_R64_M", "rax", "r9", -1)
    writer.ri("AND_RM64_IMM32", "rax", shared.capacity - 1)
    # The control blocks tell which ring it is: their distance is a power of two, that of the rings is not.
    writer.number("rcx", trace.memory + shared.control(0))
    writer.add(iced.Instruction.create_reg(iced.Code.NEG_RM64, register("rcx")))
    writer.rr("ADD_R64_RM64", "rcx", "r8")
    writer.ri("SHL_RM64_IMM8", "rcx", shared.capacity.bit_length() - _CONTROL.bit_length())
    writer.rr("ADD_R64_RM64", "rax", "rcx")
    writer.add(
        iced.Instruction.create_reg_reg_i32(
            iced.Code.IMUL_R64_RM64_IMM8, register("rax"), register("rax"), RECORD
        )
    )
    writer.number("rcx", trace.memory + shared.records(0))
    writer.rr("ADD_R64_RM64", "rax", "rcx")


def thread_of(writer: Writer, trace: Trace, to: str) -> None:
    """The id of the thread, in a register of 32 bits."""
    place = iced.MemoryOperand(displ=trace.tid, displ_size=4, seg=iced.Register.FS)
    writer.add(iced.Instruction.create_reg_mem(iced.Code.MOV_R32_RM32, register(to), place))


def fill(writer: Writer, trace: Trace, scratch: str) -> None:
    """Write what is known of the hit to where rax points, but for the number; rdx is the time. It changes rcx, rdx and
    the register ``scratch``.
    """
    writer.store("MOV_RM64_R64", "rax", 8 * TIME, "rdx")
    thread_of(writer, trace, "ecx")
    writer.store("MOV_RM32_R32", "rax", 8 * THREAD, "ecx")
    writer.number("rcx", trace.probe)
    writer.store("MOV_RM32_R32", "rax", 8 * THREAD + 4, "ecx")
    if trace.is_entry:
        writer.load("MOV_R64_RM64", "rcx", "rsp", RED_ZONE + 8 * writer.pushed)
    else:
        writer.number("rcx", 0)
    writer.store("MOV_RM64_R64", "rax", 8 * CALLER, "rcx")
    for index, name in enumerate(REGISTERS):
        writer.store("MOV_RM64_R64", "rax", 8 * (ARGUMENTS + index), writer.original(name, "rcx"))
    _python(writer, trace, scratch)


def _python(writer: Writer, trace: Trace, scratch: str) -> None:
    """The code object and the instruction that the thread is at; 0 where that is not known.

    Only what is the thread's own is followed. Nobody else frees it before the interpreter ends.
    """
    places = trace.python
    writer.number("rdx", 0)
    if places is None:
        _both(writer, "rdx", "rdx")
        return
    unknown, known = writer.new_label(), writer.new_label()
    writer.number("rcx", places.finalizing)
    writer.add(
        iced.Instruction.create_mem_i32(
            iced.Code.CMP_RM64_IMM8, iced.MemoryOperand(base=iced.Register.RCX, displ=0, displ_size=0), 0
        )
    )
    writer.branch("JNE_REL32_64", unknown)
    writer.number("rcx", trace.memory)
    _follow(writer, "rcx", 0, unknown)
    writer.rr("MOV_R64_RM64", "rdx", "rcx")
    writer.rr("MOVSXD_R64_RM32", "rcx", "ecx")
    _thread_local(writer, "rcx")
    has_state = writer.new_label()
    writer.branch("JNE_REL32_64", has_state)
    writer.ri("SAR_RM64_IMM8", "rdx", 32)
    writer.branch("JE_REL32_64", unknown)
    writer.rr("MOV_R64_RM64", "rcx", "rdx")
    _thread_local(writer, "rcx")
    writer.branch("JE_REL32_64", unknown)
    writer.here(has_state)
    _follow(writer, "rcx", places.frame, unknown)
    if places.inner is not None:
        _follow(writer, "rcx", places.inner, unknown)
    if places.owner is not None:
        is_python = writer.new_label()
        writer.add(
            iced.Instruction.create_mem_i32(
                iced.Code.CMP_RM8_IMM8,
                iced.MemoryOperand(base=iced.Register.RCX, displ=places.owner, displ_size=8),
                3,
            )
        )
        writer.branch("JNE_REL32_64", is_python)
        _follow(writer, "rcx", places.previous, unknown)
        writer.here(is_python)
    writer.load("MOV_R64_RM64", "rdx", "rcx", places.code)
    writer.ri("AND_RM64_IMM8", "rdx", -8)  # 3.14 keeps marks in the low bits of references
    small = places.has_small_instruction
    writer.load(
        "MOV_R32_RM32" if small else "MOV_R64_RM64", "ecx" if small else "rcx", "rcx", places.instruction
    )
    _both(writer, "rdx", "rcx")
    _mark(writer, places.identity, scratch)
    writer.branch("JMP_REL32_64", known)
    writer.here(unknown)
    writer.number("rdx", 0)
    _both(writer, "rdx", "rdx")
    writer.here(known)


def _thread_local(writer: Writer, to: str) -> None:
    """Read the thread's own word that is so far from its thread pointer; the flags say whether it is 0."""
    place = iced.MemoryOperand(base=register(to), displ=0, displ_size=0, seg=iced.Register.FS)
    writer.add(iced.Instruction.create_reg_mem(iced.Code.MOV_R64_RM64, register(to), place))
    writer.rr("TEST_RM64_R64", to, to)


def _mark(writer: Writer, identity: Identity, scratch: str) -> None:
    """Put the mark of the code object in rdx above its address, and above the instruction."""
    if identity.version is not None:
        writer.load("MOV_R32_RM32", "ecx", "rdx", identity.version)
    else:
        writer.number("rcx", 0)
    for pointer in identity.pointers:
        writer.load("XOR_R64_RM64", "rcx", "rdx", pointer)
        _mix(writer)
    for pointer, last in identity.contents:
        writer.load("MOV_R64_RM64", scratch, "rdx", pointer)
        writer.load("XOR_R64_RM64", "rcx", scratch, identity.size)
        _mix(writer)
        writer.load("ADD_R64_RM64", scratch, scratch, identity.size)
        writer.load("XOR_R64_RM64", "rcx", scratch, last)
        _mix(writer)
    writer.ri("SHR_RM64_IMM8", "rcx", _MARK_BITS)
    writer.store("MOV_RM16_R16", "rax", 8 * INSTRUCTION + ADDRESS_BITS // 8, "cx")
    writer.ri("SHR_RM64_IMM8", "rcx", 64 - ADDRESS_BITS)
    writer.store("MOV_RM16_R16", "rax", 8 * CODE + ADDRESS_BITS // 8, "cx")


def _mix(writer: Writer) -> None:
    rcx = register("rcx")
    writer.add(iced.Instruction.create_reg_reg_i32(iced.Code.IMUL_R64_RM64_IMM32, rcx, rcx, _MIX))


def calls(trace: Trace) -> tuple[int, int]:
    """Where the places of calls are, and how many bytes they have; (0, 0) without any."""
    return (trace.memory + trace.shared.calls, trace.shared.private) if trace.shared.times else (0, 0)


def _follow(writer: Writer, to: str, offset: int, unknown: int) -> None:
    writer.load("MOV_R64_RM64", to, to, offset)
    writer.rr("TEST_RM64_R64", to, to)
    writer.branch("JE_REL32_64", unknown)


def _both(writer: Writer, code: str, instruction: str) -> None:
    writer.store("MOV_RM64_R64", "rax", 8 * CODE, code)
    writer.store("MOV_RM64_R64", "rax", 8 * INSTRUCTION, instruction)


def ring(trace: Trace) -> tuple[int, int, int, int, int]:
    """Where the first control block and the first record are, with the sizes that lead to the others."""
    shared = trace.shared
    return (
        trace.memory + shared.control(0),
        _CONTROL,
        trace.memory + shared.records(0),
        shared.capacity,
        RECORD,
    )
