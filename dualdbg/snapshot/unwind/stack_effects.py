"""What instructions of x86-64 do with the stack and the registers, where that is known. Pure.

System V psABI of x86-64, section 3.2.1: which registers belong to the caller.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from ...probes.placement import iced
from ..linux.registers import X86_64

SP, BP = X86_64.stack_pointer, X86_64.frame_pointer
# By the number that an instruction has for it: rax rcx rdx rbx rsp rbp rsi rdi, r8 to r15.
_DWARF = (0, 2, 1, 3, SP, BP, 4, 5, *range(8, 16))
OF_CALLER = (3, BP, 12, 13, 14, 15)
LOST = tuple(number for number in range(16) if number not in (*OF_CALLER, SP))  # by a call


class Value(NamedTuple):
    """What a register has had at the beginning, plus ``offset``; ``loaded``: what lies in memory at that address."""

    register: int
    offset: int
    loaded: bool = False

    @property
    def is_known(self) -> bool:
        """Whether it is what a register has had, plus a number."""
        return not self.loaded

    def plus(self, offset: int) -> Value | None:
        """None: what was loaded and then counted on is of no use."""
        return None if self.loaded else Value(self.register, self.offset + offset)


@dataclass
class State:
    """``registers`` by DWARF number; ``stored``: what was written on the way, by address."""

    registers: list[Value | None] = field(default_factory=lambda: [Value(one, 0) for one in range(16)])
    stored: dict[Value, Value | None] = field(default_factory=dict)

    def copy(self) -> State:
        """One that goes another way from here on."""
        return State([*self.registers], {**self.stored})

    def load(self, address: Value | None) -> Value | None:
        """What is read from an address."""
        if address is None or not address.is_known:
            return None
        return self.stored.get(address, Value(address.register, address.offset, loaded=True))

    def store(self, address: Value | None, value: Value | None) -> None:
        """Keep what is written to an address, if that is known."""
        if address is not None and address.is_known:
            self.stored[address] = value

    def push(self, value: Value | None) -> None:
        """As the instruction."""
        self.move_stack(-8)
        self.store(self.registers[SP], value)

    def pop(self) -> Value | None:
        """As the instruction; what it has read."""
        value = self.load(self.registers[SP])
        self.move_stack(8)
        return value

    def forget(self, numbers: Iterable[int]) -> None:
        """These registers have been written."""
        for number in numbers:
            self.registers[number] = None

    def move_stack(self, by: int) -> None:
        """Add to the stack pointer."""
        sp = self.registers[SP]
        self.registers[SP] = sp.plus(by) if sp is not None else None


def perform(one: Any, state: State) -> None:
    """What an instruction does to the stack and the registers, where that is known; else they are not."""
    mnemonic = one.mnemonic
    registers = state.registers
    first = _register(one, 0)
    if mnemonic == iced.Mnemonic.PUSH and one.stack_pointer_increment == -8:
        state.push(registers[first] if first is not None else None)
    elif mnemonic == iced.Mnemonic.POP and one.stack_pointer_increment == 8 and first is not None:
        registers[first] = state.pop()
    elif mnemonic == iced.Mnemonic.LEAVE and one.stack_pointer_increment != 2:
        registers[SP] = registers[BP]
        registers[BP] = state.pop()
    elif mnemonic == iced.Mnemonic.MOV and one.memory_size in (0, iced.MemorySize.UINT64):
        _move(one, state)
    elif mnemonic in (iced.Mnemonic.ADD, iced.Mnemonic.SUB) and first is not None and _is_number(one):
        value, number = registers[first], _signed(one.immediate(1))
        sign = 1 if mnemonic == iced.Mnemonic.ADD else -1
        registers[first] = value.plus(sign * number) if value is not None else None
    elif mnemonic == iced.Mnemonic.LEA and first is not None:
        registers[first] = _address(one, registers)
    else:
        _lose(one, registers)


def _move(one: Any, state: State) -> None:
    to, source = _register(one, 0), _register(one, 1)
    if to is not None and source is not None:
        state.registers[to] = state.registers[source]
    elif to is not None and one.op1_kind == iced.OpKind.MEMORY:
        state.registers[to] = state.load(_address(one, state.registers))
    elif source is not None and one.op0_kind == iced.OpKind.MEMORY:
        state.store(_address(one, state.registers), state.registers[source])
    else:
        _lose(one, state.registers)


def _lose(one: Any, registers: list[Value | None]) -> None:
    """Forget what is in the registers that it may write."""
    only_read = (iced.OpAccess.READ, iced.OpAccess.COND_READ)
    for used in _info().info(one).used_registers():
        register = iced.RegisterExt.full_register(used.register)
        if used.access not in only_read and iced.RegisterExt.is_gpr64(register):
            registers[_DWARF[iced.RegisterExt.number(register)]] = None


@lru_cache(maxsize=1)
def _info() -> Any:
    return iced.InstructionInfoFactory()


def _register(one: Any, index: int) -> int | None:
    """The DWARF number of an operand that is a register of 64 bits."""
    if index >= one.op_count or one.op_kind(index) != iced.OpKind.REGISTER:
        return None
    register = one.op_register(index)
    return _DWARF[iced.RegisterExt.number(register)] if iced.RegisterExt.is_gpr64(register) else None


def _is_number(one: Any) -> bool:
    return one.op1_kind in (
        iced.OpKind.IMMEDIATE8TO64,
        iced.OpKind.IMMEDIATE32TO64,
    )


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _address(one: Any, registers: list[Value | None]) -> Value | None:
    """Where its memory operand is, if that is a register and a number."""
    base = one.memory_base
    if one.memory_index or one.segment_prefix or not iced.RegisterExt.is_gpr64(base):
        return None
    value = registers[_DWARF[iced.RegisterExt.number(base)]]
    return value.plus(_signed(one.memory_displacement)) if value is not None else None
