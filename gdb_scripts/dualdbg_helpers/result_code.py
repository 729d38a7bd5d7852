"""Whether a function may be one that makes its result where a hidden argument points to, by its code. x86-64; pure.

Such a function returns that address, which is passed in ``rdi``, in ``rax`` (System V ABI for AMD64, 3.2.3, "Returning
of Values"). So one way through the code on which ``rax`` is something else at the end proves that it is not one. Ways
are followed with what registers and the stack hold of the address. What cannot be followed may hold it.
"""

from __future__ import annotations

import re
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Set, Tuple

from .abi import ARGUMENTS, X86_64
from .att import GENERAL, PRESERVED, Instruction, memory, register
from .entry_code import Code

_MOST_STEPS = 4000
_MOST_VISITS = 2  # of one instruction, on one way

# What a register or a word of the stack holds: an offset from the hidden address, or from the stack pointer at entry;
OFFSET, STACK = "offset", "stack"
# nothing of that address; perhaps it; it and something else added; what a register had that calls preserve.
OTHER, PERHAPS, MIXED, SAVED = "other", "perhaps", "mixed", "saved"


class Held(NamedTuple):
    """What is held, by one of the words above."""

    kind: str
    offset: int = 0

    @property
    def may_be(self) -> bool:
        """Whether it may be the hidden address, or lead back to it."""
        return self.kind in (OFFSET, PERHAPS, MIXED)


_OTHER, _PERHAPS, _MIXED = Held(OTHER), Held(PERHAPS), Held(MIXED)
_ADDRESS = Held(OFFSET)
_SCRATCH = tuple(name for name in GENERAL if name not in (*PRESERVED, "rsp"))

_MOVE = re.compile(r"mov(?:q|abs|l|w|b)?$")
_NARROW = re.compile(
    r"mov[sz][bwl]+[lqw]?$|set|cvtt?s[sd]2si|v?movmsk|v?pmovmsk|popcnt|lzcnt|tzcnt|bs[fr]|crc32"
)
_ONE_WAY = re.compile(r"(?:imul|and|or|xor|sh[lr]d?|sal|sar|ro[lr]|not|neg|adc|sbb|bt[csr]|bswap)[bwlq]?$")
_FROM_RAX = re.compile(
    r"(?:mul|imul|div|idiv|cltq|cltd|cqto|cwtl|cwtd|cbtw|rdtscp?|cpuid|syscall|xgetbv)[bwlq]?$"
)
_HALF = re.compile(r"v?mov(?:sd|q|[lh]p[sd])$")  # of a vector
_STRING = re.compile(r"(?:movs|stos|lods|scas|cmps)[bwlq]?$")


class _State:
    """What is known on one way."""

    def __init__(self) -> None:
        self.registers = dict.fromkeys(GENERAL, _OTHER)
        self.registers.update({name: Held(SAVED) for name in PRESERVED})
        self.registers.update(rdi=_ADDRESS, rsp=Held(STACK))
        self.slots: Dict[
            int, Held
        ] = {}  # words of the stack, by the offset from the stack pointer at the entry
        self.is_stored = False  # the address is somewhere in memory
        self.in_vectors = False  # or in a register of vectors
        self.visits: Dict[int, int] = {}

    def copy(self) -> "_State":
        """A state of its own, for another way."""
        other = _State()
        other.registers = dict(self.registers)
        other.slots = dict(self.slots)
        other.is_stored, other.in_vectors = self.is_stored, self.in_vectors
        other.visits = dict(self.visits)
        return other


def is_no_hidden_result(code: Code, pads: "FrozenSet[int]" = frozenset(), unoptimised: bool = False) -> bool:
    """Whether the code proves that no hidden argument says where the result is to be made.

    ``pads``: where exceptions land. ``unoptimised``: values are where they are on every way, so that it does no harm to
    go on behind a call that never returns.
    """
    targets = code.jumped_to
    if not code.complete:
        # A table may lead anywhere behind a call that never returns; to the instruction behind any other too.
        targets = targets | set(code.after.values())
    waiting: List[Tuple[int, _State]] = [(code.entry, _State())]
    steps = 0
    while waiting:
        at, state = waiting.pop()
        while steps < _MOST_STEPS:
            steps += 1
            one = code.rows.get(at)
            seen = state.visits.get(at, 0)
            if one is None or seen >= _MOST_VISITS or at in pads:
                break
            state.visits[at] = seen + 1
            if one.returns:
                if _differs(state):
                    return True
                break
            behind = code.after.get(at)
            if one.calls:
                _call(state)
                if behind is None or (_is_other_code(code, behind, targets) and not unoptimised):
                    break  # perhaps it never returns, and something else comes behind it
                at = behind
                continue
            if one.jumps:
                if one.branches and one.target in code.rows:
                    waiting.append((one.target or 0, state.copy()))
                following = behind if one.branches else one.target
                if following is None or following not in code.rows:
                    break
                at = following
                continue
            if one.name in ("ud2", "hlt") or behind is None:
                break
            _perform(state, one)
            at = behind
    return False


def _is_other_code(code: Code, behind: int, targets: "Set[int]") -> bool:
    """Whether what is behind a call may be reached without it: a jump leads there, or it is filled up first."""
    return behind in targets or code.rows[behind].name.startswith(("nop", "xchg"))


def _differs(state: _State) -> bool:
    """Whether the result is not the hidden address, where the code returns."""
    result = state.registers["rax"]
    if state.registers["rsp"] != Held(STACK):
        return False
    if any(state.registers[name].kind != SAVED for name in PRESERVED):
        return False  # no way that the program takes: it would give its caller other registers back
    return result.kind in (OTHER, MIXED, STACK) or (result.kind == OFFSET and result.offset != 0)


def _call(state: _State) -> None:
    passed = any(state.registers[name].may_be for name in (*ARGUMENTS[X86_64], "rax"))
    for name in _SCRATCH:
        state.registers[name] = _PERHAPS if state.registers[name].may_be else _OTHER
    state.registers["rax"] = _PERHAPS if passed else _OTHER


# -- instructions -----------------------------------------------------------------------------------


def _perform(state: _State, one: Instruction) -> None:
    name, operands = one.name, one.operands
    if name in ("push", "pushq"):
        _move_stack(state, -8)
        _store_word(state, _value(state, operands[0]))
    elif name in ("pop", "popq"):
        value = _load_word(state)
        _move_stack(state, 8)
        _set(state, operands[0], value, 8)
    elif name in ("leave", "leaveq"):
        state.registers["rsp"] = state.registers["rbp"]
        state.registers["rbp"] = _load_word(state)
        _move_stack(state, 8)
    elif _STRING.match(name) or one.is_repeated:
        for register_name in ("rdi", "rsi", "rcx", "rax"):
            if state.registers[register_name].may_be:
                state.registers[register_name] = _PERHAPS
        _set_others(state, one, any(_value(state, operand).may_be for operand in operands))
    elif len(operands) < 2 and _FROM_RAX.match(name):
        state.registers["rax"] = state.registers["rdx"] = _OTHER
        if name in ("syscall", "cpuid"):
            state.registers["rcx"] = state.registers["r11"] = _OTHER
    elif len(operands) == 2 and name.startswith("xchg") and all(map(register, operands)):
        first, second = (_value(state, operand) for operand in operands)
        _set(state, operands[0], second, _size(operands[0]))
        _set(state, operands[1], first, _size(operands[1]))
    elif not one.only_reads and operands and not name.startswith(("nop", "endbr", "prefetch")):
        _set(state, operands[-1], _computed(state, one), _width(one))


def _computed(state: _State, one: Instruction) -> Held:
    """What an instruction puts into its last operand."""
    name, operands = one.name, one.operands
    target = operands[-1]
    if name.startswith("lea"):
        return _address(state, operands[0])
    if _MOVE.match(name) or name in ("movd", "vmovd", "vmovq"):
        return _value(state, operands[0])
    if _NARROW.match(name):
        return _OTHER
    if name.startswith("cmov"):
        found = {_value(state, operand) for operand in operands}
        if len(found) == 1:
            return found.pop()
        return _PERHAPS if any(value.may_be for value in found) else _OTHER
    before = _value(state, target)
    number = _number(operands[0]) if len(operands) == 2 else None
    sign = {"add": 1, "addq": 1, "sub": -1, "subq": -1}.get(name)
    if name in ("inc", "incq", "dec", "decq"):
        sign, number = (1 if name.startswith("inc") else -1), 1
    if sign is not None and number is not None and before.kind in (OFFSET, STACK):
        return Held(before.kind, before.offset + sign * number)
    if _ONE_WAY.match(name):
        if name.startswith("and") and before.kind == STACK:
            return _OTHER  # the stack pointer is aligned, and no slot can be followed any more
        return (
            _PERHAPS if PERHAPS in (before.kind, *(_value(state, one).kind for one in operands)) else _OTHER
        )
    sources = [_value(state, operand) for operand in operands]
    if not any(value.may_be for value in sources):
        return _OTHER
    return (
        _MIXED if sign is not None and all(value.kind in (OFFSET, OTHER) for value in sources) else _PERHAPS
    )


def _number(operand: str) -> "Optional[int]":
    if not operand.startswith("$"):
        return None
    number = int(operand[1:], 0)
    return number - (1 << 64) if number >= 1 << 63 else number


def _size(operand: str) -> int:
    part = register(operand)
    return part[1] if part is not None else 8


def _width(one: Instruction) -> int:
    """How many bytes an instruction writes to its last operand; 8 where that is not told."""
    part = register(one.operands[-1])
    if part is not None:
        return part[1]
    source = register(one.operands[0])
    if source is not None:
        return source[1]
    if "mm" in one.operands[0]:
        return 4 if one.name.endswith(("ss", "movd")) else 8 if _HALF.match(one.name) else 64
    return {"l": 4, "w": 2, "b": 1}.get(one.name[-1], 8)


def _address(state: _State, operand: str) -> Held:
    """The address that an operand in memory means."""
    place = memory(operand)
    if place is None or place.base is None:
        parts = [state.registers.get(place.scaled or "", _OTHER)] if place is not None else []
    else:
        base = state.registers.get(place.base, _OTHER)
        if place.scaled is None:
            moved = base.kind in (OFFSET, STACK)
            return Held(base.kind, base.offset + place.offset) if moved else base
        parts = [base, state.registers.get(place.scaled, _OTHER)]
    if not any(part.may_be for part in parts):
        return _OTHER
    return _MIXED if all(part.kind in (OFFSET, OTHER) for part in parts) else _PERHAPS


def _value(state: _State, operand: str) -> Held:
    """What an operand holds, as far as eight bytes of it count."""
    part = register(operand)
    if part is not None:
        return state.registers[part[0]] if part[1] == 8 else _OTHER
    if operand.startswith("$"):
        return _OTHER
    if operand.startswith("%") and memory(operand) is None:  # a vector, or what a thread has
        return _PERHAPS if state.in_vectors and "mm" in operand else _OTHER
    address = _address(state, operand)
    if address.kind == STACK:
        return state.slots.get(address.offset, _PERHAPS if state.is_stored and address.offset < 0 else _OTHER)
    return _PERHAPS if state.is_stored else _OTHER


def _set(state: _State, operand: str, value: Held, size: int) -> None:
    part = register(operand)
    if part is not None:
        state.registers[part[0]] = value if part[1] == 8 else _OTHER
        return
    if operand.startswith("%") and memory(operand) is None:
        state.in_vectors = state.in_vectors or value.may_be
        return
    address = _address(state, operand)
    if address.kind == STACK:
        for offset in range(address.offset - 7, address.offset + size):
            if state.slots.get(offset, _OTHER).may_be:
                state.slots[offset] = _PERHAPS  # a part of it is written to
        if size == 8:
            state.slots[address.offset] = value
    elif value == _ADDRESS or value.kind == PERHAPS:
        state.is_stored = True


def _set_others(state: _State, one: Instruction, may_be: bool) -> None:
    """After an instruction that is not followed: what it may have written."""
    for name in one.written():
        state.registers[name] = _PERHAPS if may_be else _OTHER


def _move_stack(state: _State, by: int) -> None:
    pointer = state.registers["rsp"]
    if pointer.kind == STACK:
        state.registers["rsp"] = Held(STACK, pointer.offset + by)


def _store_word(state: _State, value: Held) -> None:
    pointer = state.registers["rsp"]
    if pointer.kind == STACK:
        state.slots[pointer.offset] = value
    elif value.may_be:
        state.is_stored = True


def _load_word(state: _State) -> Held:
    pointer = state.registers["rsp"]
    if pointer.kind != STACK:
        return _PERHAPS
    return state.slots.get(pointer.offset, _OTHER)
