"""The frame of a function without call frame information, by its code: where it goes on, until it returns. Pure.

A C library such as musl's, code of assembler and of some compilers at run time have no unwind table and no frame
pointer. What such code does with the stack from an address on, up to its ``ret``, says where it returns to and where it
has saved the registers that it restores on the way: the tables say no more. Whether a call on the way returns is not
known, and behind one that does not there may be another function's code. So there may be several answers: those of the
ways with the fewest calls come first, and who asks sees which of them the stack bears out.

System V psABI of x86-64, section 3.2.1: which registers belong to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from ...probes.placement import CannotPlace, iced
from ..linux.registers import X86_64
from .cfi import How, Row

_MOST_INSTRUCTIONS = 3000  # 20 ms; printf of musl, which has most, has 2300
_LONGEST = 15  # bytes of an instruction
_PIECES = (512, 64, 16)  # bytes that are read at once; fewer where a page without code follows
_SP, _BP = X86_64.stack_pointer, X86_64.frame_pointer
# By the number that an instruction has for it: rax rcx rdx rbx rsp rbp rsi rdi, r8 to r15.
_DWARF = (0, 2, 1, 3, _SP, _BP, 4, 5, *range(8, 16))
_OF_CALLER = (3, _BP, 12, 13, 14, 15)
_LOST = tuple(number for number in range(16) if number not in (*_OF_CALLER, _SP))


@dataclass(frozen=True)
class _Value:
    """What a register has had at the beginning, plus ``offset``; ``loaded``: what lies in memory at that address."""

    register: int
    offset: int
    loaded: bool = False

    def plus(self, offset: int) -> _Value | None:
        """None: what was loaded and then counted on is of no use."""
        return None if self.loaded else _Value(self.register, self.offset + offset)


@dataclass
class _State:
    """``registers`` by DWARF number; ``stored``: what was written on the way, by address."""

    registers: list[_Value | None] = field(default_factory=lambda: [_Value(one, 0) for one in range(16)])
    stored: dict[_Value, _Value | None] = field(default_factory=dict)

    def copy(self) -> _State:
        return _State([*self.registers], {**self.stored})

    def load(self, address: _Value | None) -> _Value | None:
        if address is None or address.loaded:
            return None
        return self.stored.get(address, _Value(address.register, address.offset, loaded=True))

    def store(self, address: _Value | None, value: _Value | None) -> None:
        if address is not None and not address.loaded:
            self.stored[address] = value

    def push(self, value: _Value | None) -> None:
        self.move_stack(-8)
        self.store(self.registers[_SP], value)

    def pop(self) -> _Value | None:
        value = self.load(self.registers[_SP])
        self.move_stack(8)
        return value

    def move_stack(self, by: int) -> None:
        sp = self.registers[_SP]
        self.registers[_SP] = sp.plus(by) if sp is not None else None

    def at_return(self) -> Row | None:
        """The rules of where the walk began, where the code comes to a ``ret`` like this."""
        sp = self.registers[_SP]
        if sp is None or sp.loaded or sp in self.stored:  # what it has pushed itself is no return address
            return None
        rules: list[tuple[int, How, int | bytes]] = [(16, How.AT_CFA, -8)]
        cfa = sp.offset + 8
        for number in _OF_CALLER:
            value = self.registers[number]
            if value is not None and value.loaded and value.register == sp.register:
                rules.append((number, How.AT_CFA, value.offset - cfa))
            elif value != _Value(number, 0):
                rules.append((number, How.UNDEFINED, 0))
        rules += [(number, How.UNDEFINED, 0) for number in _LOST]
        return Row(sp.register, cfa, None, tuple(rules), 16, is_signal_frame=False)


def rows_by_code(
    address: int, read: Callable[[int, int], bytes | None], is_behind_call: bool
) -> tuple[tuple[Row, ...], ...] | None:
    """What may be the rules at ``address`` in code of x86-64, surer ones first; none where no way leads to a return.

    Rows in one group are as sure as each other. ``is_behind_call``: a call returns there. ``read(address, size)`` gives
    code, or None. None where that cannot be told: without iced-x86.
    """
    if iced is None:
        return None
    groups: dict[int, dict[Row, None]] = {}
    try:
        for calls, row in _Walk(read).rows(address, is_behind_call):
            groups.setdefault(calls, {})[row] = None
    except CannotPlace:  # it is installed, and cannot be loaded
        return None
    return tuple(tuple(rows) for _, rows in sorted(groups.items()))


class _Walk:
    """Along all ways from one address, those with the fewest calls first, each instruction once."""

    def __init__(self, read: Callable[[int, int], bytes | None]) -> None:
        self._read = read
        self._info = iced.InstructionInfoFactory()
        self._next: list[tuple[int, int, int, _State, bool]] = []
        self._pushed = 0
        self._seen: set[int] = set()

    def rows(self, address: int, is_behind_call: bool) -> Iterator[tuple[int, Row]]:
        """Each with the number of calls on the way to it."""
        self._push(0, address, _State(), is_behind_call)
        while self._next:
            calls, _, address, state, is_behind_call = heappop(self._next)
            row = self._along(calls, address, state, is_behind_call)
            if row is not None:
                yield calls, row

    def _push(self, calls: int, address: int, state: _State, is_behind_call: bool = False) -> None:
        self._pushed += 1  # states have no order
        heappush(self._next, (calls, self._pushed, address, state, is_behind_call))

    def _along(self, calls: int, address: int, state: _State, is_behind_call: bool) -> Row | None:
        """One after the other up to a jump, a call, a return, or what is no code."""
        flow = iced.FlowControl
        for one in self._instructions(address):
            if one.ip in self._seen or len(self._seen) >= _MOST_INSTRUCTIONS:
                return None
            if is_behind_call and one.mnemonic == iced.Mnemonic.NOP and one.ip == address:
                return None  # padding: the compiler knows that the call does not return, and another function follows
            self._seen.add(one.ip)
            if one.flow_control == flow.NEXT and one.mnemonic != iced.Mnemonic.HLT:
                self._do(one, state)
            elif one.flow_control == flow.CONDITIONAL_BRANCH:
                self._push(calls, one.near_branch_target, state.copy())
            elif one.flow_control in (flow.CALL, flow.INDIRECT_CALL):
                for number in _LOST:
                    state.registers[number] = None
                if one.mnemonic == iced.Mnemonic.CALL:  # the kernel comes back
                    self._push(calls + 1, one.next_ip, state, is_behind_call=True)
                    return None
            elif one.flow_control == flow.UNCONDITIONAL_BRANCH:
                self._push(calls, one.near_branch_target, state)
                return None
            else:
                return state.at_return() if one.mnemonic == iced.Mnemonic.RET else None
            if state.registers[_SP] is None:
                return None
        return None

    def _instructions(self, address: int) -> Iterator[Any]:
        while True:
            code = next((code for size in _PIECES if (code := self._read(address, size)) is not None), b"")
            end = address + len(code)
            for one in iced.Decoder(64, code, ip=address):
                if one.code == iced.Code.INVALID:
                    return
                yield one
                address = one.next_ip
                if end - address < _LONGEST and len(code) > _LONGEST + 1:
                    break
            else:
                return

    def _do(self, one: Any, state: _State) -> None:
        """What an instruction does to the stack and the registers, where that is known; else they are not."""
        mnemonic = one.mnemonic
        registers = state.registers
        first = _register(one, 0)
        if mnemonic == iced.Mnemonic.PUSH and one.stack_pointer_increment == -8:
            state.push(registers[first] if first is not None else None)
        elif mnemonic == iced.Mnemonic.POP and one.stack_pointer_increment == 8 and first is not None:
            registers[first] = state.pop()
        elif mnemonic == iced.Mnemonic.LEAVE and one.stack_pointer_increment != 2:
            registers[_SP] = registers[_BP]
            registers[_BP] = state.pop()
        elif mnemonic == iced.Mnemonic.MOV and one.memory_size in (0, iced.MemorySize.UINT64):
            self._move(one, state)
        elif mnemonic in (iced.Mnemonic.ADD, iced.Mnemonic.SUB) and first is not None and _is_number(one):
            value, number = registers[first], _signed(one.immediate(1))
            sign = 1 if mnemonic == iced.Mnemonic.ADD else -1
            registers[first] = value.plus(sign * number) if value is not None else None
        elif mnemonic == iced.Mnemonic.LEA and first is not None:
            registers[first] = _address(one, registers)
        else:
            self._lose(one, registers)

    def _move(self, one: Any, state: _State) -> None:
        to, source = _register(one, 0), _register(one, 1)
        if to is not None and source is not None:
            state.registers[to] = state.registers[source]
        elif to is not None and one.op1_kind == iced.OpKind.MEMORY:
            state.registers[to] = state.load(_address(one, state.registers))
        elif source is not None and one.op0_kind == iced.OpKind.MEMORY:
            state.store(_address(one, state.registers), state.registers[source])
        else:
            self._lose(one, state.registers)

    def _lose(self, one: Any, registers: list[_Value | None]) -> None:
        """Forget what is in the registers that it may write."""
        only_read = (iced.OpAccess.READ, iced.OpAccess.COND_READ)
        for used in self._info.info(one).used_registers():
            register = iced.RegisterExt.full_register(used.register)
            if used.access not in only_read and iced.RegisterExt.is_gpr64(register):
                registers[_DWARF[iced.RegisterExt.number(register)]] = None


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


def _address(one: Any, registers: list[_Value | None]) -> _Value | None:
    """Where its memory operand is, if that is a register and a number."""
    base = one.memory_base
    if one.memory_index or one.segment_prefix or not iced.RegisterExt.is_gpr64(base):
        return None
    value = registers[_DWARF[iced.RegisterExt.number(base)]]
    return value.plus(_signed(one.memory_displacement)) if value is not None else None
