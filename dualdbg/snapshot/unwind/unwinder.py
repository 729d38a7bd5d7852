"""Native frames from registers and memory.

Each frame's caller is known by call frame information, else by the frame's code, else by frame pointers.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field

from ...errors import SymbolError, UnreadableMemory
from ...probes.placement import MISSING
from ...shared.elf import SHT_DYNSYM
from ...shared.symbol_table import SymbolTable
from ...stacks.roles import NO_CODE
from ...symbols.address_space import Module
from ...symbols.elf.elf_file import ElfFile
from ..linux.memory import Memory
from ..linux.registers import AARCH64, X86_64, Architecture, Registers
from .by_code import rows_by_code
from .calls import LONGEST, ends_with_call, is_call_word
from .cfi import CallFrames, How, Row
from .dwarf_expressions import evaluate

_B, _BL, _DISTANCE = 0x14000000, 0x94000000, 0x03FFFFFF


class Calls:
    """The direct calls in the code of one file."""

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf
        self._returns: dict[int, int | None] = {}

    def only_return(self, start: int) -> int | None:
        """Where the function at ``start`` returns to, if one instruction calls it and other files cannot: else None.

        All are link-time addresses.
        """
        if start not in self._returns:
            self._returns[start] = self._find(start)
        return self._returns[start]

    def _find(self, start: int) -> int | None:
        text = self._elf.section(".text")
        if text is None or start % 4 or _is_exported(self._elf, start):
            return None
        words = array("I", bytes(self._elf.view(text))[: text.size // 4 * 4])
        first = (start - text.address) // 4
        calls = []
        for kind in (_B, _BL):
            # The distance is counted from the instruction, so that kind, place and distance add up to the same.
            calls += [
                (kind, at)
                for at, word in enumerate(words)
                if word & ~_DISTANCE == kind and (word + at - first) & _DISTANCE == 0
            ]
        if len(calls) != 1 or calls[0][0] != _BL:
            return None
        return text.address + 4 * calls[0][1] + 4


def _is_exported(elf: ElfFile, start: int) -> bool:
    tables = (SymbolTable(elf, section) for section in elf.sections if section.type == SHT_DYNSYM)
    return any(True for table in tables for _ in table.with_values({start}))


def is_behind_call(elf: ElfFile, address: int) -> bool:
    """Whether the instruction before ``address`` is a call."""
    offset = elf.offset_of(address - 4)
    if offset is None:
        return False
    return is_call_word(struct.unpack("<I", elf.bytes_at(offset, 4))[0])


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


LIMIT = 2000  # frames; deeper stacks end with a note
_MASK = (1 << 64) - 1
_IN_REGISTER = "where it returns to is in a register, which is not known without stopping the thread"


@dataclass(frozen=True)
class RawFrame:
    """``pc`` in the target and the stack pointer there. ``is_call``: the pc is where a call returns to, so the
    call itself lies before it; false for the innermost frame, and for one that a signal interrupted.

    ``is_signal``: it is the kernel's frame between a signal handler and what the signal interrupted.
    ``guessed``: found by the frame pointer, because no unwind table covers the frame called from it.
    """

    pc: int
    sp: int
    is_call: bool
    guessed: bool = False
    is_signal: bool = False


@dataclass
class Unwound:
    """The frames of a thread, innermost first; ``trouble`` says why they end early, where they do.

    ``never_returns``: it is that no table covers the last one, whose code leads to no return.
    """

    frames: list[RawFrame] = field(default_factory=list)
    trouble: str | None = None
    never_returns: bool = False


class Unwinder:
    """Unwinds the threads of one process; what is learned of an address serves every thread.

    ``is_code``: whether what is mapped at an address may be run.
    """

    def __init__(
        self, memory: Memory, modules: Sequence[Module], is_code: Callable[[int], bool] = lambda _: True
    ) -> None:
        self._memory = memory
        self._is_code = is_code
        self._modules = sorted(modules, key=lambda module: module.start)
        self._starts = [module.start for module in self._modules]
        self._tables: dict[int, CallFrames] = {}
        self._rows: dict[int, Row | None] = {}
        self._rows_by_code: dict[tuple[int, bool], tuple[tuple[Row, ...], ...] | None] = {}
        self._calls: dict[int, Calls] = {}
        self._sigreturns: dict[int, bool] = {}

    def of_moment(self, memory: Memory, is_code: Callable[[int], bool]) -> Unwinder:
        """One for another moment of the same process, which knows what this one has learnt of the files."""
        other = copy(self)
        other._memory, other._is_code, other._sigreturns = memory, is_code, {}
        return other

    def module_at(self, address: int) -> Module | None:
        """The file that is mapped at ``address``, if any."""
        index = bisect_right(self._starts, address) - 1
        if index >= 0 and address < self._modules[index].end:
            return self._modules[index]
        return None

    def unwind(self, registers: Registers) -> Unwound:
        """The frames from ``registers`` outwards."""
        result = Unwound()
        values = list(registers.values)
        pc, sp = registers.pc, registers.sp
        is_call = guessed = False
        while len(result.frames) < LIMIT:
            if self._is_sigreturn(registers.architecture, pc):
                result.frames.append(RawFrame(pc, sp, is_call, guessed, is_signal=True))
                try:
                    values, pc = interrupted(registers.architecture, self._memory, sp)
                except UnreadableMemory as error:
                    result.trouble = error.message
                    return result
                sp = values[registers.architecture.stack_pointer] or 0
                is_call = guessed = False
                continue
            try:
                row = self._row(pc - 1 if is_call else pc)
            except SymbolError as error:
                result.frames.append(RawFrame(pc, sp, is_call, guessed))
                result.trouble = error.message
                return result
            is_signal = row is not None and row.is_signal_frame
            result.frames.append(RawFrame(pc, sp, is_call, guessed, is_signal))
            try:
                if row is None and not is_call and not self._is_code(pc):
                    step = self._by_call(values, registers, sp)
                    guessed = False
                elif row is None:
                    step = self._by_code(values, registers, pc, is_call)
                    guessed = step is None
                    step = step or self._by_frame_pointer(values, registers, sp)
                else:
                    step = self._by_row(row, values, registers, innermost=len(result.frames) == 1)
                    guessed = False
            except (UnreadableMemory, SymbolError) as error:
                result.trouble = error.message
                return result
            if step is None:
                if row is None and (pc or not is_call):
                    result.trouble = self._end_without_table(pc, is_call)
                    result.never_returns = self._rows_by_code.get((pc, is_call)) == ()
                return result
            values, pc = step
            if pc == 0 and not is_signal:
                return result
            new_sp = values[registers.architecture.stack_pointer]
            assert new_sp is not None
            # A leaf of AArch64 that a signal has interrupted may use no stack at all.
            stays = new_sp < sp + is_call
            if stays and not is_signal and len(result.frames) > 1:
                result.trouble = f"the stack does not go on beyond {pc:#x} (corrupt stack?)"
                return result
            sp = new_sp
            is_call = not is_signal
        result.trouble = f"only the innermost {LIMIT} frames were read"
        return result

    def _end_without_table(self, pc: int, is_call: bool) -> str:
        if self._is_code(pc):
            text = f"no unwind table covers {pc:#x}, and no frame pointer leads on"
            return f"{text}; {MISSING}" if self._rows_by_code.get((pc, is_call), ()) is None else text
        return NO_CODE.format(pc)

    def _is_sigreturn(self, architecture: Architecture, pc: int) -> bool:
        known = self._sigreturns.get(pc)
        if known is None:
            known = self._sigreturns[pc] = is_sigreturn(architecture, lambda size: self._code(pc, size))
        return known

    def _code(self, address: int, size: int) -> bytes | None:
        """Code by the file that it was mapped from, else by the memory; None where neither can be read.

        The kernel may put the vDSO between the segments of a file.
        """
        module = self.module_at(address)
        elf = module.library.elf if module is not None and module.library is not None else None
        offset = elf.offset_of(address - module.bias) if elf is not None and module is not None else None
        try:
            if elf is not None and offset is not None:
                return elf.bytes_at(offset, size)
            return self._memory.read(address, size)
        except (SymbolError, UnreadableMemory):
            return None

    def _row(self, address: int) -> Row | None:
        if address not in self._rows:
            self._rows[address] = self._find_row(address)
        return self._rows[address]

    def _find_row(self, address: int) -> Row | None:
        module = self.module_at(address)
        if module is None or module.library is None:
            return None
        vaddr = address - module.bias
        fde = module.library.frames.find(vaddr)
        if fde is None:
            return None
        table = self._tables.get(module.start)
        if table is None:
            table = self._tables[module.start] = CallFrames(module.library.elf)
        return table.row(fde, vaddr)

    def _by_row(
        self, row: Row, values: list[int | None], registers: Registers, innermost: bool
    ) -> tuple[list[int | None], int] | None:
        architecture, memory = registers.architecture, self._memory
        if row.cfa_expression is not None:
            cfa = evaluate(row.cfa_expression, values, memory)
        else:
            base = values[row.cfa_register]
            if base is None:
                raise SymbolError(f"register {row.cfa_register} is not known without stopping the thread")
            cfa = (base + row.cfa_offset) & _MASK
        caller = list(values)
        caller[architecture.stack_pointer] = cfa
        for register, how, value in row.rules:
            if register >= len(caller):
                continue  # a vector register: of no use for unwinding
            if how is How.AT_CFA:
                assert isinstance(value, int)
                caller[register] = memory.u64((cfa + value) & _MASK)
            elif how is How.IS_CFA:
                assert isinstance(value, int)
                caller[register] = (cfa + value) & _MASK
            elif how is How.REGISTER:
                assert isinstance(value, int)
                caller[register] = values[value]
            elif how is How.UNDEFINED:
                caller[register] = None
            elif how is not How.SAME:
                assert isinstance(value, bytes)
                result = evaluate(value, values, memory, cfa)
                caller[register] = memory.u64(result) if how is How.EXPRESSION else result
        pc = caller[row.return_column]
        if pc is None:
            if any(rule == (row.return_column, How.UNDEFINED, 0) for rule in row.rules):
                return None  # the unwind table marks the outermost frame
            if not innermost:
                raise SymbolError(_IN_REGISTER)
            pc = caller[row.return_column] = self._return_of_leaf(registers.pc, cfa)
            return caller, pc
        return caller, pc & ~registers.signature if row.is_signed else pc

    def _return_of_leaf(self, pc: int, sp: int) -> int:
        """Where the function at ``pc`` returns to, whose return address is in a register that nobody knows.

        Its only caller is taken where the stack above bears it out: at ``sp`` lies the caller's frame, which
        returns behind a call itself. Raises SymbolError.
        """
        module = self.module_at(pc)
        fde = module.library.frames.find(pc - module.bias) if module is not None and module.library else None
        if module is None or module.library is None or fde is None:
            raise SymbolError(_IN_REGISTER)
        calls = self._calls.setdefault(module.start, Calls(module.library.elf))
        found = calls.only_return(fde.start)
        row = self._row(found + module.bias - 1) if found is not None else None
        if found is None or row is None or row.cfa_register != AARCH64.stack_pointer:
            raise SymbolError(_IN_REGISTER)
        saved = next((value for number, how, value in row.rules if number == 30 and how is How.AT_CFA), None)
        if not isinstance(saved, int):
            raise SymbolError(_IN_REGISTER)
        outer = self._memory.u64(sp + row.cfa_offset + saved)
        outer = outer & ~AARCH64.signature if row.is_signed else outer
        above = self.module_at(outer)
        if (
            above is None
            or above.library is None
            or not is_behind_call(above.library.elf, outer - above.bias)
        ):
            raise SymbolError(_IN_REGISTER)
        return found + module.bias

    def _by_call(
        self, values: list[int | None], registers: Registers, sp: int
    ) -> tuple[list[int | None], int] | None:
        """The caller of what is no code: a bad pointer was called, and nothing has been run since the call.

        Where the code before the return address is no call, something else has led there: a damaged stack.
        """
        architecture = registers.architecture
        caller = list(values)
        if architecture is X86_64:
            pc: int | None = self._memory.u64(sp)
            caller[architecture.stack_pointer] = sp + 8
        else:
            pc = values[architecture.return_address]
            pc = None if pc is None else pc & ~registers.signature
        if pc is None or not self._is_behind_call(architecture, pc):
            return None
        caller[architecture.return_address] = pc
        return caller, pc

    def _is_behind_call(self, architecture: Architecture, pc: int) -> bool:
        code = self._code(pc - LONGEST, LONGEST) if self._is_code(pc) else None
        return code is not None and ends_with_call(architecture, code)

    def _may_return_to(self, architecture: Architecture, pc: int) -> bool:
        """Behind a call, or to the code behind a signal handler."""
        return self._is_behind_call(architecture, pc) or self._is_sigreturn(architecture, pc)

    def _by_code(
        self, values: list[int | None], registers: Registers, pc: int, is_call: bool
    ) -> tuple[list[int | None], int] | None:
        """The caller by what the code at ``pc`` goes on to do, where its surest answers lead behind one call."""
        if registers.architecture is not X86_64:
            return None
        if (pc, is_call) not in self._rows_by_code:
            self._rows_by_code[pc, is_call] = rows_by_code(pc, self._code, is_call)
        for group in self._rows_by_code[pc, is_call] or ():
            steps = [self._borne_out(row, values, registers) for row in group]
            found = [step for step in steps if step is not None]
            if found:
                return _agreed(found)
        return None

    def _borne_out(
        self, row: Row, values: list[int | None], registers: Registers
    ) -> tuple[list[int | None], int] | None:
        try:
            step = self._by_row(row, values, registers, innermost=False)
        except (UnreadableMemory, SymbolError):
            return None
        return step if step is not None and self._may_return_to(registers.architecture, step[1]) else None

    def _by_frame_pointer(
        self, values: list[int | None], registers: Registers, sp: int
    ) -> tuple[list[int | None], int] | None:
        """The caller by the chain of frame pointers, which code without unwind tables often keeps."""
        architecture, memory = registers.architecture, self._memory
        frame = values[architecture.frame_pointer]
        if frame is None or frame < sp or frame - sp > 1 << 24 or frame % 8:
            return None
        try:
            outer, pc = memory.u64(frame), memory.u64(frame + 8)
        except UnreadableMemory:
            return None
        pc &= ~registers.signature
        if self.module_at(pc) is None:
            return None
        caller: list[int | None] = [None] * len(values)
        caller[architecture.frame_pointer] = outer
        caller[architecture.stack_pointer] = frame + 16
        if architecture is X86_64:
            caller[architecture.return_address] = pc
        return caller, pc


def _agreed(steps: list[tuple[list[int | None], int]]) -> tuple[list[int | None], int] | None:
    """What several answers have in common; None where they lead to different frames."""
    stack = X86_64.stack_pointer
    (first, pc), *others = steps
    if any(outer != pc or caller[stack] != first[stack] for caller, outer in others):
        return None
    return [
        value if all(caller[number] == value for caller, _ in others) else None
        for number, value in enumerate(first)
    ], pc
