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
_MARKS = (SP, *OF_CALLER)
# In the place of a register, for what a table of jumps gives: the table's address, an entry of it, and both added.
_ADDRESS, _ENTRY, _TARGET = 16, 17, 18
LOST = tuple(number for number in range(16) if number not in (*OF_CALLER, SP))  # by a call


class Value(NamedTuple):
    """What a register has had at the beginning, plus ``offset``; ``loaded``: what lies in memory at that address.

    An address that the code itself names has another number in the place of the register, as has what such a table of
    jumps leads to.
    """

    register: int
    offset: int
    loaded: bool = False

    @property
    def is_known(self) -> bool:
        """Whether it is what a register has had, plus a number."""
        return not self.loaded and self.register < _ADDRESS

    def plus(self, offset: int) -> Value | None:
        """None: what was loaded and then counted on is of no use."""
        return None if self.loaded else Value(self.register, self.offset + offset)


@dataclass
class State:
    """``registers`` by DWARF number; ``stored``: what was written on the way, by address.

    ``most``: what was compared last is no more than that. ``stores`` counts what was written.
    """

    registers: list[Value | None] = field(default_factory=lambda: [Value(one, 0) for one in range(16)])
    stored: dict[Value, Value | None] = field(default_factory=dict)
    most: int | None = None
    stores: int = 0

    def copy(self) -> State:
        """One that goes another way from here on."""
        return State([*self.registers], {**self.stored})

    def marks(self) -> tuple[object, ...]:
        """As long as these are the same nothing has changed of the stack, nor of the registers of the caller."""
        return self.stores, *[self.registers[one] for one in _MARKS]

    def load(self, address: Value | None) -> Value | None:
        """What is read from an address."""
        if address is None or not address.is_known:
            return None
        return self.stored.get(address, Value(address.register, address.offset, loaded=True))

    def store(self, address: Value | None, value: Value | None) -> None:
        """Keep what is written to an address, if that is known."""
        if address is not None and address.is_known:
            self.stored[address] = value
            self.stores += 1

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

    def meet(self, other: State) -> bool:
        """Keep what is known by both; whether less is known by that."""
        before = [*self.registers], dict(self.stored)
        self.registers = [
            one if one == two else None for one, two in zip(self.registers, other.registers, strict=True)
        ]
        self.stored = (
            {
                place: value if (value := self.stored.get(place)) == other.stored.get(place) else None
                for place in self.stored.keys() | other.stored.keys()
            }
            if self.stored != other.stored
            else self.stored
        )
        bound = self.most
        self.most = bound if bound == other.most else None
        return before != (self.registers, self.stored) or bound != self.most

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
    elif mnemonic == iced.Mnemonic.ADD and first is not None and (second := _register(one, 1)) is not None:
        registers[first] = _target(registers[first], registers[second])
    elif mnemonic == iced.Mnemonic.MOVSXD and first is not None and one.memory_index_scale == 4:
        registers[first] = _entry(one, registers)
    elif mnemonic == iced.Mnemonic.LEA and first is not None:
        registers[first] = _address(one, registers)
    else:
        _lose(one, registers)


def _entry(one: Any, registers: list[Value | None]) -> Value | None:
    """What is read from a table of distances, by an index."""
    base = one.memory_base
    table = registers[_DWARF[iced.RegisterExt.number(base)]] if iced.RegisterExt.is_gpr64(base) else None
    if table is None or table.register != _ADDRESS or one.memory_displacement:
        return None
    return Value(_ENTRY, table.offset)


def _target(one: Value | None, other: Value | None) -> Value | None:
    """The sum of two registers, where that is a table's address and an entry of it."""
    if one is None or other is None or one.offset != other.offset:
        return None
    return Value(_TARGET, one.offset) if {one.register, other.register} == {_ADDRESS, _ENTRY} else None


def table_of(jump: Any, state: State) -> int | None:
    """The address of the table by which an indirect jump goes: distances from its beginning, of 4 bytes each."""
    number = _register(jump, 0)
    value = state.registers[number] if number is not None else None
    return value.offset if value is not None and value.register == _TARGET else None


def stack_compared(one: Any) -> int | None:
    """The DWARF number of the register with which an instruction compares the stack pointer."""
    if one.mnemonic != iced.Mnemonic.CMP:
        return None
    registers = [_register(one, 0), _register(one, 1)]
    return next((number for number in registers if number != SP), None) if SP in registers else None


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
    if one.is_ip_rel_memory_operand:
        return Value(_ADDRESS, one.ip_rel_memory_address)
    if one.memory_index or one.segment_prefix or not iced.RegisterExt.is_gpr64(base):
        return None
    value = registers[_DWARF[iced.RegisterExt.number(base)]]
    return value.plus(_signed(one.memory_displacement)) if value is not None else None
