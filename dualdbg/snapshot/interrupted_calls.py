"""Which system call a thread is in, where a stop has hidden that. The instructions around the call say it.

A stop turns a wait with a time limit into restart_syscall(2), whose number takes the place of its own. The kernel keeps
the own number to itself, but the program put it into a register before the call.

On AArch64 a stop interrupts every call: before a tracer sees the thread, the kernel has put the pc back to the svc, and
x0 to the first argument, and has forgotten the number (do_signal in arch/arm64/kernel/signal.c). It is still in x8.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace

from ..errors import UnreadableMemory
from .linux.memory import Memory
from .linux.registers import AARCH64, X86_64, Registers
from .linux.system_calls import number_of
from .unwind.unwinder import Unwinder

# Those with a restart_block in the kernel.
_WAITS = ("poll", "nanosleep", "futex", "clock_nanosleep")
_LENGTH = 7
_CONSTANT = re.compile(rb"\xb8(....)\x0f\x05", re.DOTALL)  # mov $NUMBER,%eax; syscall
_ON_STACK = re.compile(rb"\x48\x8b\x44\x24(.)\x0f\x05", re.DOTALL)  # mov OFFSET(%rsp),%rax; syscall
# mov %r11,0x8(%rsp); syscall: __syscall_cancel_arch of glibc 2.41 and later (sysdeps/unix/sysv/linux/x86_64), called by
# __internal_syscall_cancel, whose seventh argument is the number. That lies where its caller's stack ends.
# __syscall_cp_asm of musl has the same (src/thread/x86_64/syscall_cp.s). There the number is the first argument of the
# function that calls it, and the code in front of that call puts it into edi.
_PASSED_ON = b"\x4c\x89\x5c\x24\x08\x0f\x05"

_FIRST_ARGUMENT = re.compile(rb"\xbf(....)", re.DOTALL)  # mov $NUMBER,%edi
_IN_FRONT = 48  # bytes: seven arguments and a call

_SVC = 0xD4000001
_NUMBER_IN = 8  # x8
_LOOKED_BACK = 32  # instructions
# The same two functions on AArch64: the number comes in x6 to __internal_syscall_cancel, which makes the call itself in
# a process with one thread, and in x1 to __syscall_cancel_arch. The caller has loaded it, or the caller of the caller.
_LOADED_BY = {6: 1, 1: 2}


def with_call(registers: Registers, memory: Memory, unwinder: Callable[[], Unwinder]) -> Registers:
    """``registers`` with the call that the thread is in, under its own number where that can be told. ``unwinder``
    makes one, where the code around the call does not tell alone."""
    found = registers
    try:
        if registers.architecture is AARCH64 and registers.system_call is None:
            found = _with_interrupted_call(registers, memory)
        if found.system_call is None or found.system_call[0] != number_of(
            found.architecture, "restart_syscall"
        ):
            return found
        numbers = (_x86_numbers if found.architecture is X86_64 else _arm_numbers)(found, memory, unwinder)
        waits = {number_of(found.architecture, name) for name in _WAITS}
        own = next((number for number in numbers if number in waits), None)
    except UnreadableMemory:
        return found
    return replace(found, system_call=(own, *found.system_call[1:])) if own is not None else found


def _x86_numbers(registers: Registers, memory: Memory, unwinder: Callable[[], Unwinder]) -> Iterator[int]:
    """What may be the number, more likely ones first."""
    code = memory.read(registers.pc - _LENGTH, _LENGTH)
    if (found := _CONSTANT.fullmatch(code)) is not None:
        yield int.from_bytes(found[1], "little")
    elif (found := _ON_STACK.fullmatch(code)) is not None:
        yield memory.u64(registers.sp + found[1][0])
    elif code == _PASSED_ON:
        frames = unwinder().unwind(registers).frames
        if len(frames) > 2:
            yield memory.u64(frames[2].sp)
            in_front = memory.read(frames[2].pc - _IN_FRONT, _IN_FRONT)
            moves = [int.from_bytes(move[1], "little") for move in _FIRST_ARGUMENT.finditer(in_front)]
            yield from reversed(moves)


def _with_interrupted_call(registers: Registers, memory: Memory) -> Registers:
    values = registers.values
    number, arguments = values[_NUMBER_IN], [value for value in values[:6] if value is not None]
    if memory.u32(registers.pc) != _SVC or number is None or len(arguments) < 6:
        return registers
    return replace(registers, system_call=(number, *arguments))


def _arm_numbers(registers: Registers, memory: Memory, unwinder: Callable[[], Unwinder]) -> Iterator[int]:
    place = registers.pc if memory.u32(registers.pc) == _SVC else registers.pc - 4
    number, source = _put_into(memory, place, _NUMBER_IN)
    if source in _LOADED_BY:
        frames = unwinder().unwind(registers).frames
        if len(frames) > _LOADED_BY[source]:
            # x6 is the seventh argument, and the call is the instruction before the one that it returns to.
            number = _put_into(memory, frames[_LOADED_BY[source]].pc - 4, 6)[0]
    if number is not None:
        yield number


def _put_into(memory: Memory, end: int, register: int) -> tuple[int | None, int | None]:
    """The constant, or the other register, that the code before ``end`` puts into a register: the nearest such move."""
    size = 4 * _LOOKED_BACK
    for (word,) in reversed(list(struct.iter_unpack("<I", memory.read(end - size, size)))):
        if word & 0x7FE0001F == 0x52800000 | register:  # movz
            return word >> 5 & 0xFFFF, None
        if word & 0x7FE0FFFF == 0x2A0003E0 | register:  # mov from a register
            return None, word >> 16 & 31
    return None, None
