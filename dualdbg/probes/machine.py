"""Writes instructions of x86-64 one after the other, with labels, and knows what is on the stack at each. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .placement import iced

RED_ZONE = 128  # bytes below the stack pointer that a function may use, System V AMD64 ABI
# gdb's numbers of the registers (gdb/amd64-tdep.h); rip has 16.
REGISTERS = (
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"
)  # fmt: skip


@dataclass
class Row:
    """An instruction, and what is true before it.

    ``pushed``: how many registers are on the stack, -1: the red zone is not left yet, None: the stack is the function's
    own. ``marks``: see :class:`~dualdbg.probes.thunk.Probe`.
    """

    instruction: Any
    pushed: int | None
    marks: tuple[str, ...] = ()


@dataclass
class Writer:
    """The instructions so far. ``saved``: what is pushed, in order; ``changed``: the registers that are written to."""

    rows: list[Row] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    changed: set[str] = field(default_factory=set)
    pushed: int = -1
    marks: set[str] = field(default_factory=set)
    _label: int = 0
    _next_labels: list[int] = field(default_factory=list)

    def add(self, instruction: Any) -> None:
        """One more instruction, which gets the label that waits for it."""
        if self._next_labels:
            instruction.ip = self._next_labels.pop()
            assert not self._next_labels
        self.rows.append(Row(instruction, self.pushed, tuple(sorted(self.marks))))

    def new_label(self) -> int:
        """A label that :meth:`here` is to place."""
        self._label += 1
        return self._label

    def here(self, label: int) -> None:
        """The next instruction has this label: an instruction has one, so a second one gets a nop."""
        if self._next_labels:
            self.add(iced.Instruction.create(iced.Code.NOPD))
        self._next_labels.append(label)

    def push(self, name: str) -> None:
        """Save a register, or ``flags``."""
        if name == "flags":
            self.add(iced.Instruction.create(iced.Code.PUSHFQ))
        else:
            self.add(iced.Instruction.create_reg(iced.Code.PUSH_R64, register(name)))
        if name not in self.saved:
            self.saved.append(name)
        self.pushed += 1

    def pop(self) -> None:
        """Put back what was saved last."""
        name = self.saved[self.pushed - 1]
        if name == "flags":
            self.add(iced.Instruction.create(iced.Code.POPFQ))
        else:
            self.add(iced.Instruction.create_reg(iced.Code.POP_R64, register(name)))
        self.pushed -= 1

    def rr(self, code: str, to: str, source: str) -> None:
        """An instruction with two registers; ``code`` is iced's name of it."""
        self.changed.update((whole(to), whole(source)) if code.startswith("XCHG") else (whole(to),))
        self.add(iced.Instruction.create_reg_reg(getattr(iced.Code, code), register(to), register(source)))

    def ri(self, code: str, to: str, number: int) -> None:
        """One with a register and a number that is part of it."""
        self.changed.add(whole(to))
        self.add(iced.Instruction.create_reg_i32(getattr(iced.Code, code), register(to), number))

    def load(self, code: str, to: str, base: str, offset: int = 0) -> None:
        """One with a register and the memory behind another one."""
        self.changed.add(whole(to))
        place = iced.MemoryOperand(base=register(base), displ=offset, displ_size=8 if offset else 0)
        self.add(iced.Instruction.create_reg_mem(getattr(iced.Code, code), register(to), place))

    def store(self, code: str, base: str, offset: int, source: str) -> None:
        """Write a register behind another one."""
        place = iced.MemoryOperand(base=register(base), displ=offset, displ_size=8 if offset else 0)
        self.add(iced.Instruction.create_mem_reg(getattr(iced.Code, code), place, register(source)))

    def number(self, to: str, number: int) -> None:
        """Put a number into a register."""
        self.changed.add(to)
        number &= (1 << 64) - 1
        if number < 1 << 31:
            self.add(iced.Instruction.create_reg_u32(iced.Code.MOV_R32_IMM32, register(low(to)), number))
        else:
            self.add(iced.Instruction.create_reg_u64(iced.Code.MOV_R64_IMM64, register(to), number))

    def branch(self, code: str, label: int) -> None:
        """A jump to a label, or to an address."""
        self.add(iced.Instruction.create_branch(getattr(iced.Code, code), label))

    def system_call(self, number: int) -> None:
        """A system call, whose arguments are in their registers."""
        self.changed.update(("rax", "rcx", "r11"))
        self.number("rax", number)
        self.add(iced.Instruction.create(iced.Code.SYSCALL))

    def original(self, name: str, to: str) -> str:
        """The register that holds what the function had in ``name``: itself, or ``to``, where it is on the stack."""
        if name not in self.saved[: self.pushed]:
            return name
        self.load("MOV_R64_RM64", to, "rsp", 8 * (self.pushed - 1 - self.saved.index(name)))
        return to

    def push_slot(self, name: str) -> None:
        """Push rax; ``name`` is what the place on the stack is used for."""
        self.add(iced.Instruction.create_reg(iced.Code.PUSH_R64, register("rax")))
        self.saved.append(name)
        self.pushed += 1


def register(name: str) -> Any:
    """iced's register of a name."""
    return getattr(iced.Register, name.upper())


def whole(name: str) -> str:
    """The 64 bits of which a register is a part."""
    return _WHOLE[name]


def low(name: str) -> str:
    """The name of a register's lower 32 bits."""
    return f"{name}d" if name[1:].isdigit() else f"e{name[1:]}"


def part(name: str, bits: int) -> str:
    """The name of a register's lower 8 or 16 bits."""
    if name[1:].isdigit():
        return name + ("l" if bits == 8 else "w")
    short = name[1:]
    return short if bits == 16 else (short[0] + "l" if short in ("ax", "bx", "cx", "dx") else short + "l")


_WHOLE = {one: name for name in REGISTERS for one in (name, low(name), part(name, 8), part(name, 16))}
