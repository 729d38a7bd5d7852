"""Which registers a caller fills for a call, by the instructions in front of it. For x86-64; pure.

What is written to a register for arguments and read by nothing before the call, nor behind it, is an argument.
"""

from __future__ import annotations

import re
from typing import Dict, Optional, Sequence, Set, Tuple

from .att import PARTS, Instruction, register
from .caller_state import RESULTS, touched
from .entry_code import FLOATS, INTEGERS, Code

_PURE = re.compile(r"(?:v?mov[a-z0-9]*|lea[lq]?|set\w+|v?cvt\w+)$")
_ZERO = re.compile(r"(?:xor|v?pxor|v?xorp[sd])[lq]?$")
_MOVES_NUMBER = re.compile(r"mov(?:[lq]|abs)?$")
_TOKEN = re.compile(r"%(\w+)")
_ARGUMENTS = frozenset((*INTEGERS, *FLOATS))


def filled(rows: "Sequence[Instruction]", fixed: "Sequence[bool]") -> "Tuple[str, ...]":
    """The registers that are filled for the call behind ``rows``: the last instructions before it, without a jump.

    ``fixed``: for each whether it reads of the memory only what never changes. What is volatile or atomic is read for
    nothing too: so another register that is filled from memory counts only in front of one that counts.
    """
    found: Set[str] = set()
    loaded: Set[str] = set()
    decided: Set[str] = set()
    read: Set[str] = set()
    for one, is_fixed in zip(reversed(rows), reversed(fixed)):
        if one.jumps or one.calls or one.returns:
            break
        if one.name.startswith(("nop", "endbr", "xchg")):
            decided.update(_mentioned(one.operands))
            continue
        target, is_pure = _target(one)
        if target is not None and is_pure and target not in decided | read:
            (loaded if _is_load(one) and not is_fixed else found).add(target)
        decided.update(touched(one))
        sources = one.operands[:-1] if target is not None and is_pure else one.operands
        if not (_ZERO.match(one.name) and len(set(one.operands)) == 1):
            read.update(_mentioned(sources))
    return tuple(sorted(found | _in_front(loaded, found)))


def numbers(rows: "Sequence[Instruction]", names: "Sequence[str]") -> "Dict[str, int]":
    """Those of the registers that have a number of 64 bits at the call behind ``rows`` which stands in these."""
    found: Dict[str, int] = {}
    decided: Set[str] = set()
    for one in reversed(rows):
        if one.jumps or one.calls or one.returns:
            break
        target, _ = _target(one)
        if target in names and target not in decided and target in INTEGERS:
            number = _number(one)
            if number is not None:
                found[target] = number
        decided.update(touched(one))
    return found


def _number(one: Instruction) -> "Optional[int]":
    """What an instruction leaves in the general register that is its last operand, if that is always the same."""
    part = register(one.operands[-1])
    if part is None or part[1] < 4 or len(one.operands) != 2:
        return None
    if one.operands[0] == one.operands[1] and _ZERO.match(one.name):
        return 0
    if not _MOVES_NUMBER.match(one.name) or not one.operands[0].startswith("$"):
        return None
    return int(one.operands[0][1:], 0) & ((1 << 8 * part[1]) - 1)


def _is_load(one: Instruction) -> bool:
    """Whether an instruction copies from memory."""
    return "mov" in one.name and not one.operands[0].startswith(("$", "%"))


def _in_front(loaded: "Set[str]", found: "Set[str]") -> "Set[str]":
    """Those of the registers that come before others which are ``found``: there is no gap in arguments."""
    return {
        name
        for order in (INTEGERS, FLOATS)
        for at, name in enumerate(order)
        if name in loaded and found & {*order[at:]}
    }


def used_behind(code: Code, behind: int, names: "Sequence[str]") -> "Set[str]":
    """Those of the registers that may be read behind the call which leads back to ``behind``, by what is called too.

    A caller may know that the function leaves a register alone, where it was compiled with it (GCC's ``-fipa-ra``).
    """
    if not code.complete:
        return set(names)
    used: Set[str] = set()
    known = {behind: frozenset(names)}
    waiting = [behind]
    while waiting:
        at = waiting.pop()
        one = code.rows.get(at)
        if one is None:
            continue
        target, is_pure = _target(one)
        zero = _ZERO.match(one.name) is not None and len(set(one.operands)) == 1
        sources = () if zero else one.operands[:-1] if is_pure else one.operands
        if not one.name.startswith(("nop", "endbr")):
            used |= known[at] & _mentioned(sources)
        if one.calls or one.target in code.outside:
            used |= known[at]
        elif one.returns:
            used |= known[at] & RESULTS
        left = known[at] - {target or ""}
        for following in code.following(one):
            before = known.get(following, frozenset())
            if not left <= before:
                known[following] = before | left
                waiting.append(following)
    return used


def written(one: Instruction) -> "Set[str]":
    """The registers for arguments to which an instruction writes for certain, or reads and writes."""
    target, _ = _target(one)
    return {target} if target is not None else set()


def _target(one: Instruction) -> "Tuple[str | None, bool]":
    """The register for arguments that an instruction writes to as its last operand; whether it reads nothing there."""
    if not one.operands or one.only_reads or not one.operands[-1].startswith("%"):
        return None, False
    name = one.operands[-1][1:]
    part = PARTS.get(name)
    whole = part[0] if part is not None else name.replace("ymm", "xmm")
    if whole not in _ARGUMENTS:
        return None, False
    zero = _ZERO.match(one.name) is not None and len(set(one.operands)) == 1
    return whole, zero or (_PURE.match(one.name) is not None and len(one.operands) == 2)


def _mentioned(operands: "Sequence[str]") -> "Set[str]":
    names = {name for operand in operands for name in _TOKEN.findall(operand)}
    return {
        PARTS[name][0] if name in PARTS else re.sub(r"[yz]mm", "xmm", name) for name in names
    } & _ARGUMENTS
