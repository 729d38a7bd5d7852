"""The machine code that times calls: a call leaves what is known of it in a table, and its return takes it out. Pure.

The place in the table is that of the stack pointer, which is the same at the first instruction of a call and at its
return. Who finds another call there knows no time: a call that an exception or longjmp has ended leaves what the next
one at the same place of the stack writes over.

While somebody reads or writes a place it has the stack pointer plus one. A jump out of a signal handler that
interrupted that leaves it so. Who comes with the same stack pointer knows it: nobody who is still at work can have it.
"""

from __future__ import annotations

from .machine import RED_ZONE, Writer, register
from .placement import iced
from .recording import (
    ARGUMENTS,
    NUMBER,
    RECORD,
    SLOT,
    SLOTS,
    THREAD,
    TIME,
    WORDS,
    Trace,
    fill,
    reserved,
    thread_of,
)

DURATION = WORDS - 1
"""The word of a record of a return that has how long the call took; its time is that of the call."""
_SPREAD = 0x9E3779B97F4A7C15  # 2**64 by the golden ratio: neighbours come far apart


def forget(writer: Writer, trace: Trace) -> None:
    """A call begins that may not be counted: what is known of another one at its place is not true of it."""
    _find(writer, trace)
    writer.rr("MOV_R64_RM64", "rax", "r9")
    writer.number("rcx", 0)
    _compare_exchange(writer, "rcx")


def begin(writer: Writer, trace: Trace) -> None:
    """Leave what is known of a call; r10 is the time of its record. It begins at the end of our work."""
    busy, left = writer.new_label(), writer.new_label()
    if not trace.takes_down:
        _time(writer)
        writer.rr("MOV_R64_RM64", "r10", "rdx")
    _find(writer, trace)
    writer.load("MOV_R64_RM64", "rax", "r11", 8 * NUMBER)
    writer.load("LEA_R64_M", "rcx", "r9", 1)
    writer.rr("CMP_R64_RM64", "rax", "rcx")
    writer.branch("JE_REL32_64", left)
    writer.ri("TEST_RM8_IMM8", "al", 1)
    writer.branch("JNE_REL32_64", busy)
    writer.here(left)
    _claim(writer, busy)
    writer.rr("MOV_R64_RM64", "rax", "r11")
    writer.rr("MOV_R64_RM64", "rdx", "r10")
    fill(writer, trace, "r10")
    _time(writer)
    writer.store("MOV_RM64_R64", "r11", 8 * DURATION, "rdx")
    writer.store("MOV_RM64_R64", "r11", 8 * NUMBER, "r9")
    writer.marks.discard("claimed")
    writer.here(busy)


def end(writer: Writer, trace: Trace, call: int) -> None:
    """A return: count it and take it down, where its call, a hit of the probe ``call``, is known."""
    unknown, release = writer.new_label(), writer.new_label()
    _time(writer)
    writer.rr("MOV_R64_RM64", "r10", "rdx")
    _find(writer, trace)
    writer.rr("MOV_R64_RM64", "rax", "r9")
    writer.load("LEA_R64_M", "rcx", "r9", 1)
    _claim(writer, unknown)
    writer.marks.add("passed")
    thread_of(writer, trace, "ecx")
    _compare(writer, 8 * THREAD, "ecx")
    writer.branch("JNE_REL32_64", release)  # a forked child has the table too
    writer.number("rcx", call)
    _compare(writer, 8 * THREAD + 4, "ecx")
    writer.branch("JNE_REL32_64", release)
    writer.load("SUB_R64_RM64", "r10", "r11", 8 * DURATION)
    writer.branch("JB_REL32_64", release)  # the processors' clocks do not agree
    _add(writer, trace, trace.probe, None)
    _add(writer, trace, trace.probe + 1, "r10")
    if trace.takes_down:
        with reserved(writer, trace):
            for word in range(TIME, DURATION):
                if word != THREAD:
                    writer.load("MOV_R64_RM64", "rcx", "r11", 8 * word)
                    writer.store("MOV_RM64_R64", "rax", 8 * word, "rcx")
            writer.load("MOV_R32_RM32", "ecx", "r11", 8 * THREAD)
            writer.store("MOV_RM32_R32", "rax", 8 * THREAD, "ecx")
            writer.number("rcx", trace.probe)
            writer.store("MOV_RM32_R32", "rax", 8 * THREAD + 4, "ecx")
            writer.store("MOV_RM64_R64", "rax", 8 * DURATION, "r10")
    writer.here(release)
    writer.number("rcx", 0)
    writer.store("MOV_RM64_R64", "r11", 8 * NUMBER, "rcx")
    writer.marks.difference_update(("claimed", "passed"))
    writer.here(unknown)


def _claim(writer: Writer, taken: int) -> None:
    """Put rcx into the place if it has rax: nobody else uses it then. Goes to the label where it has not."""
    _compare_exchange(writer, "rcx")
    writer.marks.add("claiming")
    writer.branch("JNE_REL32_64", taken)
    writer.marks.discard("claiming")
    writer.marks.add("claimed")


def _time(writer: Writer) -> None:
    """The time, in rdx."""
    writer.changed.update(("rax", "rcx", "rdx"))
    writer.add(iced.Instruction.create(iced.Code.RDTSCP))
    writer.ri("SHL_RM64_IMM8", "rdx", 32)
    writer.rr("OR_R64_RM64", "rdx", "rax")


def _find(writer: Writer, trace: Trace) -> None:
    """r9 is the stack pointer, r11 the place."""
    writer.load("LEA_R64_M", "r9", "rsp", RED_ZONE + 8 * writer.pushed)
    writer.number("r11", _SPREAD)
    writer.rr("IMUL_R64_RM64", "r11", "r9")
    writer.ri("SHR_RM64_IMM8", "r11", 64 - (SLOTS.bit_length() - 1))
    writer.ri("SHL_RM64_IMM8", "r11", SLOT.bit_length() - 1)
    writer.number("rcx", trace.memory + trace.shared.calls)
    writer.rr("ADD_R64_RM64", "r11", "rcx")


def _compare_exchange(writer: Writer, source: str) -> None:
    place = iced.MemoryOperand(base=register("r11"), displ=0, displ_size=0)
    one = iced.Instruction.create_mem_reg(iced.Code.CMPXCHG_RM64_R64, place, register(source))
    one.has_lock_prefix = True
    writer.changed.add("rax")
    writer.add(one)


def _compare(writer: Writer, offset: int, source: str) -> None:
    place = iced.MemoryOperand(base=register("r11"), displ=offset, displ_size=8)
    writer.add(iced.Instruction.create_mem_reg(iced.Code.CMP_RM32_R32, place, register(source)))


def _add(writer: Writer, trace: Trace, counter: int, source: str | None) -> None:
    writer.number("rax", trace.memory + trace.shared.counter(counter))
    place = iced.MemoryOperand(base=register("rax"), displ=0, displ_size=0)
    if source is None:
        one = iced.Instruction.create_mem(iced.Code.INC_RM64, place)
    else:
        one = iced.Instruction.create_mem_reg(iced.Code.ADD_RM64_R64, place, register(source))
    one.has_lock_prefix = True
    writer.add(one)


assert RECORD <= SLOT and ARGUMENTS + 6 == WORDS
