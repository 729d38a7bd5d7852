"""The registers of a thread in DWARF's numbering, from what the kernel gives (ptrace or a core file).

x86-64: System V psABI, figure "DWARF Register Number Mapping", and struct user_regs_struct of <sys/user.h>.
aarch64: "DWARF for the Arm 64-bit Architecture" (AADWARF64), and struct user_pt_regs of <asm/ptrace.h>.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

X86_64_SIZE, AARCH64_SIZE = 27 * 8, 34 * 8

# user_regs_struct: r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base …
_X86_64_ORDER = (10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16)
_X86_64_ARGUMENTS = (14, 13, 12, 7, 9, 8)  # rdi rsi rdx r10 r8 r9: a system call's arguments
_ORIG_RAX, _FS_BASE = 15, 21
_SVC_SIZE = 4
_INTERRUPTED = frozenset((4, 512, 513, 514, 516))  # EINTR, and include/linux/errno.h


@dataclass(frozen=True)
class Architecture:
    """What unwinding needs to know. ``signature``: the bits that a signed return address may have its code in.

    Those of AArch64 are of a kernel with addresses of 48 bits; a thread that was asked says its own.
    """

    name: str
    stack_pointer: int
    frame_pointer: int
    return_address: int
    count: int
    signature: int = 0


X86_64 = Architecture("x86-64", 7, 6, 16, 17)
AARCH64 = Architecture("aarch64", 31, 29, 30, 33, 0xFFFF << 48)


@dataclass(frozen=True)
class Registers:
    """``values`` by DWARF number; None where not known. ``pc`` and ``sp`` are always known.

    ``thread_pointer`` identifies the thread as pthread_self() does on x86-64. ``system_call`` is the number and the
    six arguments of the call that the thread is in, where the registers tell. ``signature``: the bits of a return
    address that hold its authentication code.
    """

    architecture: Architecture
    pc: int
    sp: int
    values: tuple[int | None, ...]
    thread_pointer: int | None = None
    system_call: tuple[int, ...] | None = None
    signature: int = 0

    def slept_at(self, pc: int) -> bool:
        """Whether a thread that a stop took out of a system call has slept in it at ``pc`` (of /proc/PID/syscall).

        That is behind the instruction of the call. The kernel puts a thread back to this instruction before a tracer
        sees it on AArch64, and when it goes on, on x86-64 (do_signal in arch/arm64/kernel/signal.c).
        """
        return pc == self.pc or (self.architecture is AARCH64 and pc == self.pc + _SVC_SIZE)

    @property
    def has_returned(self) -> bool:
        """Whether the call has a result, and the thread is about to leave it. Where a stop has interrupted it, the
        kernel's word for that is in the place of one. On AArch64 the registers do not tell."""
        if self.architecture is not X86_64 or self.system_call is None or self.values[0] is None:
            return False
        return (1 << 64) - self.values[0] not in _INTERRUPTED


def registers_from_regset(data: bytes) -> Registers:
    """From the bytes of register set NT_PRSTATUS; its size tells the machine."""
    if len(data) == X86_64_SIZE:
        raw = struct.unpack("<27Q", data)
        call = None
        if raw[_ORIG_RAX] < 1 << 63:  # -1: not in a system call
            call = (raw[_ORIG_RAX], *(raw[index] for index in _X86_64_ARGUMENTS))
        values = tuple(raw[index] for index in _X86_64_ORDER)
        return Registers(X86_64, values[16], values[7], values, raw[_FS_BASE], call)
    if len(data) == AARCH64_SIZE:
        raw = struct.unpack("<34Q", data)
        return Registers(AARCH64, raw[32], raw[31], (*raw[:32], raw[32]), signature=AARCH64.signature)
    raise ValueError(f"a register set of {len(data)} bytes is of neither x86-64 nor aarch64")


# Register sets of AArch64 beside NT_PRSTATUS (include/uapi/linux/elf.h, arch/arm64/kernel/ptrace.c).
NT_ARM_TLS, NT_ARM_SYSTEM_CALL, NT_ARM_PAC_MASK = 0x401, 0x404, 0x406


def with_regset(registers: Registers, kind: int, data: bytes) -> Registers:
    """What another register set of the same thread says too. One that is not known, or is cut off, says nothing.

    NT_ARM_SYSTEM_CALL is -1 at most stops: the kernel has prepared to begin the call again.
    """
    if registers.architecture is not AARCH64:
        return registers
    if kind == NT_ARM_TLS and len(data) >= 8:
        return replace(registers, thread_pointer=struct.unpack_from("<Q", data)[0])
    if kind == NT_ARM_PAC_MASK and len(data) >= 16:  # struct user_pac_mask: of data, of instructions
        return replace(registers, signature=struct.unpack_from("<Q", data, 8)[0])
    if kind == NT_ARM_SYSTEM_CALL and len(data) >= 4:
        (number,) = struct.unpack_from("<i", data)
        if number >= 0:
            return replace(registers, system_call=(number, *_known(registers.values[:6])))
    return registers


def _known(values: tuple[int | None, ...]) -> tuple[int, ...]:
    return tuple(value or 0 for value in values)


def known_stack_pointer(
    architecture: Architecture, pc: int, sp: int, system_call: tuple[int, ...] | None
) -> Registers:
    """What /proc/PID/task/TID/syscall says about a thread that nobody stopped: pc and sp, nothing else."""
    values: list[int | None] = [None] * architecture.count
    values[architecture.stack_pointer] = sp
    if architecture is X86_64:
        values[16] = pc
    return Registers(architecture, pc, sp, tuple(values), None, system_call, architecture.signature)


X86_64_NAMES = (
    *("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"),
    *("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"),
    "rip",
)
AARCH64_NAMES = (*(f"x{number}" for number in range(31)), "sp", "pc")


def debugger_names(architecture: Architecture) -> tuple[str, ...]:
    """The registers that :func:`from_debugger` wants, as gdb calls them."""
    if architecture is X86_64:
        return (*X86_64_NAMES, "fs_base", "orig_rax")
    return AARCH64_NAMES


def from_debugger(architecture: Architecture, values: dict[str, int]) -> Registers:
    """The registers of a thread that gdb holds."""
    if architecture is AARCH64:
        ordered = tuple(values[name] for name in AARCH64_NAMES)
        return Registers(AARCH64, values["pc"], values["sp"], ordered, signature=AARCH64.signature)
    ordered = tuple(values[name] for name in X86_64_NAMES)
    call = None
    if values["orig_rax"] < 1 << 63:
        call = (values["orig_rax"], *(values[name] for name in ("rdi", "rsi", "rdx", "r10", "r8", "r9")))
    return Registers(X86_64, values["rip"], values["rsp"], ordered, values["fs_base"], call)
