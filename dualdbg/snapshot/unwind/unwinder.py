"""Native frames from registers and memory: each frame's caller by call frame information, else by frame pointers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...errors import SymbolError, UnreadableMemory
from ...symbols.address_space import Module
from ..linux.memory import Memory
from ..linux.registers import Registers
from .cfi import CallFrames, How, Row
from .dwarf_expressions import evaluate

LIMIT = 2000  # frames; deeper stacks end with a note
_MASK = (1 << 64) - 1


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
    """The frames of a thread, innermost first; ``trouble`` says why they end early, where they do."""

    frames: list[RawFrame] = field(default_factory=list)
    trouble: str | None = None


class Unwinder:
    """Unwinds the threads of one process; what is learned of an address serves every thread."""

    def __init__(self, memory: Memory, modules: Sequence[Module]) -> None:
        self._memory = memory
        self._modules = sorted(modules, key=lambda module: module.start)
        self._starts = [module.start for module in self._modules]
        self._tables: dict[int, CallFrames] = {}
        self._rows: dict[int, Row | None] = {}

    def module_at(self, address: int) -> Module | None:
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
            try:
                row = self._row(pc - 1 if is_call else pc)
            except SymbolError as error:
                result.frames.append(RawFrame(pc, sp, is_call, guessed))
                result.trouble = error.message
                return result
            is_signal = row is not None and row.is_signal_frame
            result.frames.append(RawFrame(pc, sp, is_call, guessed, is_signal))
            try:
                if row is None:
                    step = self._by_frame_pointer(values, registers, sp)
                    guessed = True
                else:
                    step = self._by_row(row, values, registers)
                    guessed = False
            except (UnreadableMemory, SymbolError) as error:
                result.trouble = error.message
                return result
            if step is None:
                if row is None and pc:
                    result.trouble = f"no unwind table covers {pc:#x}, and no frame pointer leads on"
                return result
            values, pc = step
            if pc == 0:
                return result
            new_sp = values[registers.architecture.stack_pointer]
            assert new_sp is not None
            if new_sp <= sp and not is_signal and len(result.frames) > 1:
                result.trouble = f"the stack does not go on beyond {pc:#x} (corrupt stack?)"
                return result
            sp = new_sp
            is_call = not is_signal
        result.trouble = f"only the innermost {LIMIT} frames were read"
        return result

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
        self, row: Row, values: list[int | None], registers: Registers
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
            return None  # the unwind table marks the outermost frame
        return caller, pc & ((1 << architecture.address_bits) - 1)

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
        pc &= (1 << architecture.address_bits) - 1
        if self.module_at(pc) is None:
            return None
        caller: list[int | None] = [None] * len(values)
        caller[architecture.frame_pointer] = outer
        caller[architecture.stack_pointer] = frame + 16
        caller[architecture.return_address] = pc
        return caller, pc
