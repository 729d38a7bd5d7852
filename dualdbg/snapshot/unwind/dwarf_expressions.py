"""Expressions of DWARF 5, section 2.5, as far as unwinding uses them (2.17: with the CFA on the stack at first)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import SymbolError
from ..cursor import Cursor
from ..linux.memory import Memory

_MASK = (1 << 64) - 1
_LITERALS = {
    0x08: "<B",
    0x09: "<b",
    0x0A: "<H",
    0x0B: "<h",
    0x0C: "<I",
    0x0D: "<i",
    0x0E: "<Q",
    0x0F: "<q",
}


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


_BINARY: dict[int, Callable[[int, int], int]] = {
    0x1A: lambda a, b: a & b,
    0x1B: lambda a, b: int(_signed(a) / _signed(b)),
    0x1C: lambda a, b: a - b,
    0x1D: lambda a, b: a % b,
    0x1E: lambda a, b: a * b,
    0x21: lambda a, b: a | b,
    0x22: lambda a, b: a + b,
    0x24: lambda a, b: a << b,
    0x25: lambda a, b: a >> b,
    0x26: lambda a, b: _signed(a) >> b,
    0x27: lambda a, b: a ^ b,
    0x29: lambda a, b: _signed(a) == _signed(b),
    0x2A: lambda a, b: _signed(a) >= _signed(b),
    0x2B: lambda a, b: _signed(a) > _signed(b),
    0x2C: lambda a, b: _signed(a) <= _signed(b),
    0x2D: lambda a, b: _signed(a) < _signed(b),
    0x2E: lambda a, b: _signed(a) != _signed(b),
}
_UNARY: dict[int, Callable[[int], int]] = {
    0x19: lambda a: abs(_signed(a)),
    0x1F: lambda a: -a,
    0x20: lambda a: ~a,
}


def evaluate(
    expression: bytes, registers: Sequence[int | None], memory: Memory, initial: int | None = None
) -> int:
    """The value of a DWARF expression. ``initial`` is on the stack at first (the CFA, for a register's rule).

    Raises SymbolError for an operation that unwinding has no use for, or a register that is not known.
    """
    cursor = Cursor(expression)
    stack: list[int] = [] if initial is None else [initial]
    steps = 0
    while cursor.at < len(expression):
        steps += 1
        if steps > 1000:
            raise SymbolError("an unwind expression does not end")
        operation = cursor.u8()
        if 0x30 <= operation <= 0x4F:
            stack.append(operation - 0x30)
        elif 0x70 <= operation <= 0x8F:
            stack.append(_known(registers, operation - 0x70) + cursor.sleb())
        elif operation in _LITERALS:
            stack.append(cursor.fixed(_LITERALS[operation]))
        elif operation in _BINARY:
            second, first = stack.pop(), stack.pop()
            stack.append(int(_BINARY[operation](first, second)))
        elif operation in _UNARY:
            stack.append(_UNARY[operation](stack.pop()))
        else:
            _special(operation, cursor, stack, registers, memory)
        if stack:
            stack[-1] &= _MASK
    return stack[-1]


def _special(
    operation: int, cursor: Cursor, stack: list[int], registers: Sequence[int | None], memory: Memory
) -> None:
    if operation == 0x06:  # deref
        stack.append(memory.u64(stack.pop()))
    elif operation == 0x94:  # deref_size
        size = cursor.u8()
        stack.append(int.from_bytes(memory.read(stack.pop(), size), "little"))
    elif operation == 0x10:  # constu
        stack.append(cursor.uleb())
    elif operation == 0x11:  # consts
        stack.append(cursor.sleb())
    elif operation == 0x12:  # dup
        stack.append(stack[-1])
    elif operation == 0x13:  # drop
        stack.pop()
    elif operation == 0x14:  # over
        stack.append(stack[-2])
    elif operation == 0x15:  # pick
        stack.append(stack[-1 - cursor.u8()])
    elif operation == 0x16:  # swap
        stack[-1], stack[-2] = stack[-2], stack[-1]
    elif operation == 0x17:  # rot
        stack[-1], stack[-2], stack[-3] = stack[-2], stack[-3], stack[-1]
    elif operation == 0x23:  # plus_uconst
        stack.append(stack.pop() + cursor.uleb())
    elif operation == 0x28:  # bra
        distance = cursor.fixed("<h")
        if stack.pop():
            cursor.at += distance
    elif operation == 0x2F:  # skip
        distance = cursor.fixed("<h")
        cursor.at += distance
    elif operation == 0x92:  # bregx
        register = cursor.uleb()
        stack.append(_known(registers, register) + cursor.sleb())
    elif operation != 0x96:  # nop
        raise SymbolError(f"an unwind expression has the operation {operation:#x}")


def _known(registers: Sequence[int | None], number: int) -> int:
    value = registers[number] if number < len(registers) else None
    if value is None:
        raise SymbolError(f"an unwind expression needs register {number}, which is not known")
    return value
