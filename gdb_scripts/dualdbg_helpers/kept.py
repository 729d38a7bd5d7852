"""Which registers still hold what was passed to a function, by all of its instructions. For x86-64; pure.

A function that needs an argument behind a call keeps it in a register that calls preserve (System V ABI for AMD64,
3.2.1). Where its first instructions copy the argument there, and no other instruction of the function writes to that
register but to give it back at the end, the register holds the argument everywhere in between. The unwinder finds the
register in frames further out.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from .abi import ARGUMENTS, X86_64
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


_FOLLOWED = {part: whole for part, whole in PARTS.items() if whole[0] in (*ARGUMENTS[X86_64], *PRESERVED)}
# With these a function begins: what they write is their last operand.
_FIRST = re.compile(
    r"(?:mov|push|sub|add|lea|xor|and|or|test|cmp|endbr64|nop|v?movap|v?movup|v?movdq|v?pxor|v?xorp|v?movs[sd])"
)
_STRING = re.compile(r"(?:movs[bwlq]?|movabs)$")  # without registers movs copies memory, as movabs may
_LIMIT = 20000  # instructions


def kept(parts: "Sequence[Sequence[Row]]", pc: int) -> Found:
    """Where the arguments are at the address ``pc``, which lies in the first part of the function.

    ``parts``: its instructions, from its entry on, and those of its other parts, all of them.
    """
    nothing = Found({}, [])
    if sum(map(len, parts)) > _LIMIT or any("(bad)" in text for rows in parts for _, text in rows):
        return nothing
    code = [[parsed(*row) for row in rows] for rows in parts]
    inside = {one.address for rows in code for one in rows}
    jumps = [one for rows in code for one in rows if one.jumps]
    if any(one.target is None for one in jumps):
        return nothing  # through a table: it may go anywhere
    targets = {one.target for one in jumps if one.target is not None}
    outside = sorted(targets - inside)
    holds, moves, end = _beginning(code[0])
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


def _beginning(rows: "Sequence[Instruction]") -> "Tuple[Dict[str, Tuple[str, int]], Dict[str, int], int]":
    """What the preserved registers hold when the instructions have run with which the function begins, which
    instruction has put it there, and where those end.
    """
    holds = {name: (name, 8) for name in ARGUMENTS[X86_64]}
    moves: Dict[str, int] = {}
    for one in rows:
        if _FIRST.match(one.name) is None or _STRING.match(one.name) or one.is_repeated or one.jumps:
            break
        copied = _copied(one, holds)
        for register in one.written():
            holds.pop(register, None)
        if copied is not None:
            register, what = copied
            holds[register] = what
            moves[register] = one.address
    else:
        return {}, {}, rows[-1].address
    return {name: what for name, what in holds.items() if name in PRESERVED}, moves, one.address


def _copied(one: Instruction, holds: "Dict[str, Tuple[str, int]]") -> "Optional[Tuple[str, Tuple[str, int]]]":
    """The register to which an instruction copies an argument, which, and how many bytes of it."""
    if one.name not in ("mov", "movq", "movl") or len(one.operands) != 2:
        return None
    source, target = (
        _FOLLOWED.get(operand[1:]) if operand.startswith("%") else None for operand in one.operands
    )
    if source is None or target is None or source[1] != target[1] or source[1] < 4 or source[0] not in holds:
        return None
    argument, size = holds[source[0]]
    return target[0], (argument, min(size, source[1]))


def _end_of_return(rows: "Sequence[Instruction]", at: int, inside: "Set[int]") -> "Optional[int]":
    """The address of the return, or of the jump out of the function, to which the instruction leads straight on and
    without a call. None where it leads elsewhere: it is no part of a return.
    """
    for one in rows[at + 1 :]:
        if one.name.startswith("ret") or (one.name in ("jmp", "jmpq") and one.target not in inside):
            return one.address
        if one.jumps or one.name.startswith("call"):
            return None
    return None
