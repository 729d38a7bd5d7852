"""The result of a function without debug info, by its type: where it is just behind the return, and its text.

Sources: System V ABI for AMD64, 3.2.3 ("Returning of Values"): words in ``rax`` and ``rdx``, ``xmm0`` and ``xmm1``;
what is made in memory has its address in ``rax``. On AArch64 (AAPCS64, 6.9) a result is where a first argument of its
type would be, and of what is made in memory no register keeps the address (:mod:`result_address`).
Itanium C++ ABI, 3.1.3.1: in memory is an object whose copy or destructor is not trivial, whatever its size. A
``std::tuple`` of libstdc++ is one (its move constructor is written out), and has its elements from the last to the
first.
"""

from __future__ import annotations

from typing import Any, Callable, List, NamedTuple, Optional, Tuple, Union

from . import placing_arm
from .abi import AARCH64, X86_64, split_list
from .passed import INTEGER, Value, object_of, template, value_of

VOID = "void"
INTEGERS = {X86_64: ("rax", "rdx"), AARCH64: ("x0", "x1")}  # the first is shown where a value is not known
FLOATS = (0, 1)  # the numbers of xmm registers

Word = Union[str, int]
"""The name of a general register, or the number of an xmm or of a vector register."""


class InRegisters(NamedTuple):
    """A result in registers: those of its words as in :class:`passed.Registers`, and its text from their bytes.

    ``piece`` bytes of it are in each.
    """

    registers: Tuple[Word, ...]
    text: Callable[[Any, bytes], str]
    piece: int = 8


class Made(NamedTuple):
    """A result that was made in memory: the size of its type, the alignment, and its text from its address."""

    size: int
    align: int
    text: Callable[[Any, int], str]


Found = Union[InRegisters, Made]


def registers_of(words: Tuple[str, ...]) -> Tuple[Word, ...]:
    """The registers of x86-64 in which a result of these classes of words comes back."""
    integers, floats = iter(INTEGERS[X86_64]), iter(FLOATS)
    return tuple(next(integers) if word == INTEGER else next(floats) for word in words)


def result_of(kind: str, machine: str) -> Optional[Found]:
    """Where a result of a type is, and how it is read; None where that is not known.

    ``machine``: one of those of :mod:`abi`.
    """
    if machine == AARCH64:
        return _of_arm(kind)
    value = value_of(kind)
    if kind == "long double":
        return None  # in a register of the x87, which is not read here
    if value is not None and not value.in_memory:
        return InRegisters(registers_of(value.words), _cut(value))
    return _made(kind)


def _of_arm(kind: str) -> Optional[Found]:
    shown = placing_arm.shown_kind(kind)
    if shown is None:
        return None
    value, way = value_of(shown), placing_arm.way_of(kind, ())
    if value is None or way is None or way.copied:
        return _made(shown)
    if way.vectors:
        return InRegisters(tuple(range(way.vectors)), _cut(value), way.piece)
    return InRegisters(INTEGERS[AARCH64][: way.general], _cut(value))


def _cut(value: Value) -> Callable[[Any, bytes], str]:
    return lambda target, data: value.text(target, data[: value.size])


def _made(kind: str) -> Optional[Made]:
    kind = kind.strip()
    value = value_of(kind)
    if value is not None:
        return Made(value.size, value.align, _from_memory(value))
    found = object_of(kind)
    if found is not None and found.size is not None:
        return Made(found.size, found.align, found.text)
    name, inner = template(kind) or ("", "")
    if name == "std::tuple":
        return _tuple(split_list(inner))
    return None


def _from_memory(value: Value) -> Callable[[Any, int], str]:
    return lambda target, address: value.text(target, target.memory.read(address, value.size))


def _tuple(kinds: List[str]) -> Optional[Made]:
    """Of libstdc++: each element is behind those that follow it (``_Tuple_impl``)."""
    parts = [_made(kind) for kind in kinds]
    places, end = [], 0
    for part in reversed(parts):
        if part is None:
            return None
        end = -(-end // part.align) * part.align
        places.insert(0, (end, part.text))
        end += part.size
    if not places:
        return None
    align = max(part.align for part in parts if part is not None)

    def text(target: Any, address: int) -> str:
        return "(%s)" % ", ".join(read(target, address + offset) for offset, read in places)

    return Made(-(-end // align) * align, align, text)
