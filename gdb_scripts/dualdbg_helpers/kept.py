"""Which registers still hold what was passed to a function, by all of its instructions. Pure.

A function that needs an argument behind a call keeps it in a register that calls preserve (System V ABI for AMD64,
3.2.1; AAPCS64, 6.1.1). Where its first instructions copy the argument there, and no other instruction of the function
writes to that register but to give it back at the end, the register holds the argument everywhere in between. The
unwinder finds the register in frames further out.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from . import arm_code
from .abi import AARCH64, ARGUMENTS, X86_64
from .att import PARTS, PRESERVED, Instruction, Row, parsed


class Kept(NamedTuple):
    """A register that holds an argument, and how many bytes of it."""

    register: str
    size: int


class Found(NamedTuple):
    """By the register in which it was passed: where an argument is. ``outside``: where the code jumps to that was not
    looked at.
    """

    kept: Dict[str, Kept]
    outside: List[int]


_PARTS = {part: whole for part, whole in PARTS.items() if whole[0] in (*ARGUMENTS[X86_64], *PRESERVED)}
# With these a function begins: what they write is known.
_FIRST = re.compile(
    r"(?:mov|push|sub|add|lea|xor|and|or|test|cmp|endbr64|nop|v?movap|v?movup|v?movdq|v?pxor|v?xorp|v?movs[sd])"
)
_FIRST_OF_ARM = re.compile(
    r"(?:mov[zkn]?|stp|str|stur|sub|add|adrp?|bti|paciasp|nop|cmp|tst|and|orr|eor|ldr)$"
)
_STRING = re.compile(r"(?:movs[bwlq]?|movabs)$")  # without registers movs copies memory, as movabs may
_LIMIT = 20000  # instructions


def _copied(one: Instruction) -> "Optional[Tuple[str, str, int]]":
    """The register that an instruction copies, that to which it does, and how many bytes of it."""
    if one.name not in ("mov", "movq", "movl") or len(one.operands) != 2:
        return None
    source, target = (
        _PARTS.get(operand[1:]) if operand.startswith("%") else None for operand in one.operands
    )
    if source is None or target is None or source[1] != target[1] or source[1] < 4:
        return None
    return source[0], target[0], source[1]


def _is_first(one: Instruction) -> bool:
    return _FIRST.match(one.name) is not None and not _STRING.match(one.name) and not one.is_repeated


class _Machine(NamedTuple):
    """A processor: how its instructions are read, which copy a register, with which a function may begin; the registers
    of arguments, and those that calls preserve.
    """

    parsed: Callable[[int, str], Any]
    copied: "Callable[[Any], Optional[Tuple[str, str, int]]]"
    is_first: Callable[[Any], bool]
    arguments: Sequence[str]
    preserved: Sequence[str]


_MACHINES = {
    X86_64: _Machine(parsed, _copied, _is_first, ARGUMENTS[X86_64], PRESERVED),
    AARCH64: _Machine(
        arm_code.parsed,
        arm_code.copied,
        lambda one: _FIRST_OF_ARM.match(one.name) is not None,
        ARGUMENTS[AARCH64],
        arm_code.PRESERVED,
    ),
}
_NO_CODE = ("(bad)", "undefined", ".inst")


def kept(parts: "Sequence[Sequence[Row]]", pc: int, architecture: str = X86_64) -> Found:
    """Where the arguments are at the address ``pc``, which lies in the first part of the function.

    ``parts``: its instructions, from its entry on, and those of its other parts, all of them. ``architecture``:
    :data:`~.abi.X86_64` or :data:`~.abi.AARCH64`.
    """
    nothing = Found({}, [])
    is_code = not any(word in text for rows in parts for _, text in rows for word in _NO_CODE)
    if sum(map(len, parts)) > _LIMIT or not is_code:
        return nothing
    machine = _MACHINES[architecture]
    code = [[machine.parsed(*row) for row in rows] for rows in parts]
    inside = {one.address for rows in code for one in rows}
    jumps = [one for rows in code for one in rows if one.jumps]
    if any(one.target is None for one in jumps):
        return nothing  # through a table: it may go anywhere
    targets = {one.target for one in jumps if one.target is not None}
    outside = sorted(targets - inside)
    holds, moves, end = _beginning(code[0], machine)
    if pc < end or any(code[0][0].address <= target < end for target in targets):
        return Found({}, outside)
    for rows in code:
        for at, one in enumerate(rows):
            for register in one.written() & set(holds):
                if one.address == moves[register]:
                    continue
                last = _end_of_return(rows, at, inside)
                if last is None or one.address < pc <= last:
                    del holds[register]
    found: Dict[str, Kept] = {}
    for register, (argument, size) in holds.items():
        if argument not in found or found[argument].size < size:
            found[argument] = Kept(register, size)
    return Found(found, outside)


def _beginning(
    rows: "Sequence[Any]", machine: _Machine
) -> "Tuple[Dict[str, Tuple[str, int]], Dict[str, int], int]":
    """What the preserved registers hold when the instructions have run with which the function begins, which
    instruction has put it there, and where those end.
    """
    holds = {name: (name, 8) for name in machine.arguments}
    moves: Dict[str, int] = {}
    for one in rows:
        if one.jumps or not machine.is_first(one):
            break
        source, target, size = machine.copied(one) or ("", "", 0)
        what = holds.get(source)
        for register in one.written():
            holds.pop(register, None)
        if what is not None:
            holds[target] = what[0], min(what[1], size)
            moves[target] = one.address
    else:
        return {}, {}, rows[-1].address
    return {name: what for name, what in holds.items() if name in machine.preserved}, moves, one.address


def _end_of_return(rows: "Sequence[Any]", at: int, inside: "Set[int]") -> "Optional[int]":
    """The address of the return, or of the jump out of the function, to which the instruction leads straight on and
    without a call. None where it leads elsewhere: it is no part of a return.
    """
    for one in rows[at + 1 :]:
        if one.returns or (one.goes_on and one.target not in inside):
            return int(one.address)
        if one.jumps or one.calls:
            return None
    return None
