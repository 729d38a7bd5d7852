"""The frame that the kernel makes for a signal handler, known by the code to which the handler returns.

The code of arm64's vDSO for it has no frame information, on purpose (arch/arm64/kernel/vdso/sigreturn.S of Linux), and
that of some C libraries has none either (musl). libgcc knows it by its two instructions (MD_FALLBACK_FRAME_STATE_FOR
in libgcc/config/aarch64/linux-unwind.h and libgcc/config/i386/linux-unwind.h), and so do we.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from ..linux.memory import Memory
from ..linux.registers import AARCH64, Architecture

ARM64_SIGRETURN = struct.pack("<II", 0xD2801168, 0xD4000001)  # mov x8, #139; svc #0
X86_SIGRETURNS = (
    bytes.fromhex("48c7c00f0000000f05"),  # mov $15,%rax; syscall
    bytes.fromhex("b80f0000000f05"),  # mov $15,%eax; syscall
)
# struct rt_sigframe (arch/arm64/kernel/signal.c): siginfo of 128 bytes, ucontext with its sigcontext at 176; there
# fault_address, regs[31], sp, pc (arch/arm64/include/uapi/asm/sigcontext.h). The stack pointer points to it.
_ARM64_REGISTERS_AT = 128 + 176 + 8
_ARM64_REGISTERS = struct.Struct("<33Q")
# struct rt_sigframe (arch/x86/include/asm/sigframe.h), behind the return address that the handler has taken: the
# ucontext, with its sigcontext at 40 (arch/x86/include/uapi/asm/sigcontext.h): r8 to r15, rdi, rsi, rbp, rbx, rdx, rax,
# rcx, rsp, rip.
_X86_REGISTERS_AT = 40
_X86_REGISTERS = struct.Struct("<17Q")
_X86_ORDER = (13, 12, 14, 11, 9, 8, 10, 15, *range(8), 16)  # where each is, by DWARF number


def is_sigreturn(architecture: Architecture, read: Callable[[int], bytes | None]) -> bool:
    """Whether the code ``read`` gives so many bytes of is what a handler returns to."""
    codes = (ARM64_SIGRETURN,) if architecture is AARCH64 else X86_SIGRETURNS
    return any(read(len(code)) == code for code in codes)


def interrupted(architecture: Architecture, memory: Memory, sp: int) -> tuple[list[int | None], int]:
    """The registers, by DWARF number, and the pc of what a signal has interrupted. ``sp``: in the sigreturn code."""
    if architecture is AARCH64:
        values = _ARM64_REGISTERS.unpack(memory.read(sp + _ARM64_REGISTERS_AT, _ARM64_REGISTERS.size))
        return [*values[: AARCH64.count]], values[32]
    values = _X86_REGISTERS.unpack(memory.read(sp + _X86_REGISTERS_AT, _X86_REGISTERS.size))
    return [values[place] for place in _X86_ORDER], values[16]
