"""Which call a thread waits in, where a stop has turned a wait with a time limit into restart_syscall(2). x86-64.

The kernel keeps that to itself, but the instruction before says it: it put the number into a register.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ..errors import UnreadableMemory
from .linux.memory import Memory
from .linux.registers import X86_64, Registers
from .linux.system_calls import RESTARTED
from .unwind.unwinder import Unwinder

# poll, nanosleep, futex, clock_nanosleep: those with a restart_block in the kernel
_WAITS = (7, 35, 202, 230)
_LENGTH = 7
_CONSTANT = re.compile(rb"\xb8(....)\x0f\x05", re.DOTALL)  # mov $NUMBER,%eax; syscall
_ON_STACK = re.compile(rb"\x48\x8b\x44\x24(.)\x0f\x05", re.DOTALL)  # mov OFFSET(%rsp),%rax; syscall
# mov %r11,0x8(%rsp); syscall: __syscall_cancel_arch of glibc 2.41 and later (sysdeps/unix/sysv/linux/x86_64), called by
# __internal_syscall_cancel, whose seventh argument is the number. That lies where its caller's stack ends.
_PASSED_ON = b"\x4c\x89\x5c\x24\x08\x0f\x05"


def with_own_number(registers: Registers, memory: Memory, unwinder: Unwinder) -> Registers | None:
    """``registers`` with the call that is restarted; None of a thread that restarts none, or where it is not known."""
    call = registers.system_call
    if call is None or call[0] != RESTARTED or registers.architecture is not X86_64:
        return None
    try:
        number = _number(registers, memory, unwinder)
    except UnreadableMemory:
        return None
    return replace(registers, system_call=(number, *call[1:])) if number in _WAITS else None


def _number(registers: Registers, memory: Memory, unwinder: Unwinder) -> int | None:
    code = memory.read(registers.pc - _LENGTH, _LENGTH)
    if (found := _CONSTANT.fullmatch(code)) is not None:
        return int.from_bytes(found[1], "little")
    if (found := _ON_STACK.fullmatch(code)) is not None:
        return memory.u64(registers.sp + found[1][0])
    if code != _PASSED_ON:
        return None
    frames = unwinder.unwind(registers).frames
    return memory.u64(frames[2].sp) if len(frames) > 2 else None
