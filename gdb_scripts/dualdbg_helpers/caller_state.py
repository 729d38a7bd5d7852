"""What a caller may have put into registers and on the stack for a call, on any way to it. For x86-64; pure.

A caller fills the place of every parameter (a number, a pointer; of a class parts may be left as they are). So what
nothing has been written to for certain is not passed: a register that a call before has clobbered, a word of the stack
that nothing is stored in.
"""

from __future__ import annotations

import re
from typing import Callable, Dict, FrozenSet, Iterable, Iterator, NamedTuple, Optional, Sequence, Tuple

from .att import PARTS, PRESERVED, Instruction, memory, register
from .entry_code import FLOATS, INTEGERS, Code
from .frame_offsets import NOT_KNOWN, Offsets, behind, offsets, on_stack

ALL = frozenset((*INTEGERS, *FLOATS))
RESULTS = frozenset(
    ("rdx", "xmm0", "xmm1")
)  # in which a function may return something, and a handler is told which
_TOKEN = re.compile(r"%(\w+)")
_WORD = 8
_LARGEST_STORE = 64
_STORES = {"b": 1, "w": 2, "l": 4, "q": 8}

# What reads or writes registers that it does not name.
_UNSEEN = re.compile(
    r"i?mul|i?div|cqto|cltd|cwtd|cqo|cdq|cwd|loop|sys|cpuid|rd(?:tsc|pmc|msr|pk|pru)|xgetbv|cmpxchg(?:8|16)b"
    r"|v?pcmp[ei]str|xrstor|fxrstor|enc|vmcall|vmfunc|int|getsec|t[dl]call"
    r"|(?:ins|outs)[bwl]?$|vzeroall|aes\w+wide|u?monitor|u?mwait|xlat|seamcall|rex"
    r"|wr(?:msr|pkru|ss)|xs(?:ave|et)|tpause|v?maskmov(?:q|dqu)|pconfig|invlpg|clzero"
)
_STRING = re.compile(r"(?:movs|stos|lods|scas|cmps)[bwlq]?$")


class State(NamedTuple):
    """Before an instruction: ``registers`` that may be filled; ``words`` of the stack that may be, from the stack
    pointer at the entry of the caller; ``own``: registers that still have what the caller must give back. ``fresh``:
    perhaps nothing was done with arguments yet.
    """

    registers: FrozenSet[str]
    words: FrozenSet[int]
    own: FrozenSet[str]
    fresh: bool = False


class Filled(NamedTuple):
    """What may be filled for a call: ``registers``, and ``words`` of the stack from the stack pointer at the call on.

    None where that is not known. ``taken``: addresses there that the caller computes, to copy something perhaps.
    """

    registers: "Optional[Tuple[str, ...]]"
    words: "Optional[Tuple[int, ...]]"
    taken: Tuple[int, ...] = ()


Effect = Callable[[Instruction], "Tuple[FrozenSet[str], FrozenSet[str]]"]
"""The registers that a call may leave as they are, and those of :data:`RESULTS` in which it may return something."""


def may_be_filled(
    code: Code, call: int, given: "Iterable[str]", pads: "Sequence[int]", effect: Effect
) -> Filled:
    """What the caller may have filled for the call at this address. ``given``: registers in which the caller may have
    been given something itself; ``pads``: where exceptions land in it.
    """
    if not code.complete:
        return Filled(None, None)
    frames = offsets(code, pads)
    known: Dict[int, State] = {
        pad: State(RESULTS, frozenset(), frozenset()) for pad in pads if pad in code.rows
    }
    known[code.entry] = State(frozenset(given), frozenset(), frozenset(PRESERVED), True)
    waiting = [*known]
    while waiting:
        one = code.rows[waiting.pop()]
        before = known[one.address]
        left = _behind(one, before, frames.get(one.address, NOT_KNOWN), effect)
        for at in code.following(one):
            old = known.get(at)
            now = left if old is None else _joined(old, left)
            if now != old:
                known[at] = now
                waiting.append(at)
    if call not in known:
        return Filled(None, None)
    pointer = frames.get(call, NOT_KNOWN).pointer
    if pointer is None:
        return Filled(tuple(sorted(known[call].registers)), None)
    words = {word - pointer for word in known[call].words if word >= pointer}
    taken = {
        one - pointer for at, now in frames.items() for one in _taken(code.rows[at], now) if one >= pointer
    }
    return Filled(tuple(sorted(known[call].registers)), tuple(sorted(words)), tuple(sorted(taken)))


def _taken(one: Instruction, frame: Offsets) -> "Iterator[int]":
    """An address of the stack that an instruction puts into a register."""
    if len(one.operands) != 2 or one.operands[1] in ("%rsp", "%rbp") or not one.operands[1].startswith("%"):
        return
    place = memory(one.operands[0]) if one.name.startswith("lea") else None
    if place is not None:
        start = frame.of(place._replace(scaled=None))
    else:
        start = {"%rsp": frame.pointer, "%rbp": frame.base}.get(one.operands[0])
    if start is not None:
        yield start


def _joined(one: State, other: State) -> State:
    return State(
        one.registers | other.registers,
        one.words | other.words,
        one.own & other.own,
        one.fresh or other.fresh,
    )


def _behind(one: Instruction, before: State, frame: Offsets, effect: Effect) -> State:
    if one.calls:
        # What counts calls of functions (``mcount``) leaves everything as it is, and is called at their beginning.
        kept, results = effect(one)
        left = before.registers if before.fresh else before.registers & kept
        return State(left | results, before.words, before.own)
    if one.name.startswith(("nop", "endbr")):
        return before
    written = touched(one)
    registers = before.registers | written
    words = before.words | _stored(one, before, frame)
    after = behind(one, frame).pointer
    if after is not None and frame.pointer is not None and after > frame.pointer:
        words = frozenset(word for word in words if word >= after)  # what is below the stack pointer is lost
    return State(registers, words, before.own - one.written(), before.fresh and not written)


def touched(one: Instruction) -> "FrozenSet[str]":
    """The registers for arguments to which an instruction may write, but for what it calls."""
    if one.name.startswith(("nop", "endbr")):
        return frozenset()
    if _UNSEEN.match(one.name):
        return ALL
    names = {PARTS[name][0] if name in PARTS else re.sub("[yz]mm", "xmm", name) for name in _names(one)}
    return ALL & (names | {"rdi", "rsi", "rcx"} if _STRING.match(one.name) else names)


def _names(one: Instruction) -> "Sequence[str]":
    return _TOKEN.findall(" ".join(one.operands))


def _stored(one: Instruction, before: State, frame: Offsets) -> "FrozenSet[int]":
    """The words of the stack of which an instruction may write a part."""
    if one.name.startswith("push"):
        part = register(one.operands[0]) if one.operands else None
        if frame.pointer is None or (part is not None and part[0] in before.own):
            return frozenset()  # what the caller gives back at its end
        return frozenset((frame.pointer - _WORD,))
    found = set()
    for where in on_stack(one, frame):
        found.update(range(where // _WORD * _WORD, where + _size(one), _WORD))
    return frozenset(found)


def _size(one: Instruction) -> int:
    """How many bytes an instruction writes to memory at most."""
    part = register(one.operands[0])
    if one.name.startswith("mov") and part is not None:
        return part[1]
    if one.operands[0].startswith("$"):
        return _STORES.get(one.name[-1], _LARGEST_STORE)
    return {"%xmm": 16, "%ymm": 32}.get(one.operands[0][:4], _LARGEST_STORE)


def least_on_stack(rows: "Sequence[Instruction]") -> int:
    """How many bytes are passed on the stack at least, by the last instructions before a call, without a jump.

    A number, or something in memory, is pushed for a call alone: not to keep it, nor to fill up the stack.
    """
    pushed: "list[bool]" = []  # for each word whether it is an argument
    for one in rows:
        if one.jumps or one.calls or one.returns:
            pushed = []
        elif one.name.startswith("push"):
            pushed.append(one.name in ("push", "pushq") and register(one.operands[0]) is None)
        elif one.name.startswith("pop") and pushed and not one.name.startswith("popcnt"):
            pushed.pop()
        elif "rsp" in one.written() or one.operands == ["%rsp", "%rbp"]:
            pushed = []
    return _WORD * (len(pushed) - pushed.index(True)) if True in pushed else 0
