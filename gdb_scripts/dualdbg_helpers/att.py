"""Instructions of x86-64 in the text that gdb has for them (AT&T's syntax): operands, and what is written. Pure."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

Row = Tuple[int, str]  # an instruction: its address, and gdb's text of it

GENERAL = (
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"
)  # fmt: skip
PRESERVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")  # by who is called: System V AMD64 ABI, figure 3.4
_LEGACY = {"rax": "a", "rdi": "di", "rsi": "si", "rdx": "d", "rcx": "c", "rbx": "b", "rbp": "bp", "rsp": "sp"}


def _parts() -> "Dict[str, Tuple[str, int]]":
    """By each name of a part of a register: the whole one, and the size of the part in bytes."""
    found: Dict[str, Tuple[str, int]] = {}
    for name in GENERAL:
        if name in _LEGACY:
            short = _LEGACY[name]
            middle = short if len(short) == 2 else short + "x"
            parts = {name: 8, "e" + middle: 4, middle: 2, short + "l": 1, short + "h": 1}
        else:
            parts = {name: 8, name + "d": 4, name + "w": 2, name + "b": 1}
        found.update({part: (name, size) for part, size in parts.items()})
    return found


PARTS = _parts()
_PREFIXES = {"bnd", "notrack", "data16", "cs", "ds", "es", "fs", "gs", "rex", "rex.W", "addr32"}
_REPEATED = re.compile(r"rep|lock|xacquire|xrelease")
_CONDITIONAL = re.compile(r"j(?!mp)\w+|loop\w*|xbegin")
_READS_ALL = re.compile(r"v?(?:cmp[bwlq]?|test[bwlq]?|bt[wlq]?|u?comis[sd]|ptest|testp[sd])$")
_READS_ONE = re.compile(
    r"push|call|jmp|j\w+|mul|div|imul|idiv|nop|prefetch|wr[fg]sbase|ldmxcsr|fld|clflush|verr|ret"
)
_WRITES_ALL = re.compile(r"xchg|xadd|cmpxchg|mulx")
_WRITES_UNSEEN = {"leave": "rbp", "leaveq": "rbp", "enter": "rbp", "cpuid": "rbx"}
_MEMORY = re.compile(r"(?:%[c-g]s:)?(-?0x[0-9a-f]+|-?\d+)?\((%\w+)?(?:,(%\w+)(?:,(\d))?)?\)$")


class Memory(NamedTuple):
    """A place in memory that an operand means: ``offset`` and the registers that are added to it."""

    offset: int
    base: Optional[str]
    scaled: Optional[str]
    segment: bool


class Instruction(NamedTuple):
    """One instruction: ``name`` without prefixes; ``is_repeated`` with rep or lock."""

    address: int
    name: str
    operands: List[str]
    is_repeated: bool

    @property
    def target(self) -> "Optional[int]":
        """Where a direct jump goes."""
        match = re.match(r"0x[0-9a-f]+", self.operands[0]) if self.operands else None
        return int(match.group(), 16) if match is not None else None

    @property
    def jumps(self) -> bool:
        """Whether it is a jump, on a condition or not."""
        return self.goes_on or self.branches

    @property
    def goes_on(self) -> bool:
        """Whether it is a jump on no condition."""
        return self.name in ("jmp", "jmpq")

    @property
    def branches(self) -> bool:
        """Whether it jumps on a condition."""
        return _CONDITIONAL.match(self.name) is not None

    @property
    def returns(self) -> bool:
        """Whether it leads back to the caller."""
        return self.name.startswith("ret")

    @property
    def calls(self) -> bool:
        """Whether it is a call."""
        return self.name.startswith("call")

    @property
    def only_reads(self) -> bool:
        """Whether it writes to none of its operands."""
        if len(self.operands) == 1:
            return _READS_ONE.match(self.name) is not None
        return _READS_ALL.match(self.name) is not None or not self.operands

    def written(self) -> "Set[str]":
        """The registers of which it may write a part, but for those that only its name tells (``rax`` by ``mul``)."""
        operands = [one for one in self.operands if one.startswith("%")]
        found = {_WRITES_UNSEEN[self.name]} if self.name in _WRITES_UNSEEN else set()
        if self.is_repeated or _WRITES_ALL.match(self.name):
            chosen = operands
        elif self.only_reads:
            chosen = []
        else:
            chosen = (
                operands
                if len(self.operands) == 1
                else [one for one in self.operands[-1:] if one in operands]
            )
        return found | {PARTS[one[1:]][0] for one in chosen if one[1:] in PARTS}


def parsed(address: int, text: str) -> Instruction:
    """An instruction from its text."""
    words = re.sub(r"\s*(?:#|<).*$", "", text.strip()).split(None, 1)
    repeated = False
    while len(words) > 1 and (words[0] in _PREFIXES or _REPEATED.match(words[0])):
        repeated = repeated or _REPEATED.match(words[0]) is not None
        words = words[1].split(None, 1)
    return Instruction(
        address, words[0] if words else "", _operands(words[1]) if len(words) > 1 else [], repeated
    )


def memory(operand: str) -> "Optional[Memory]":
    """The place in memory that an operand means; None of any other operand."""
    match = _MEMORY.match(operand)
    if match is None:
        return None
    offset, base, index, _ = match.groups()
    segment = operand.startswith("%") and operand[2:4] == "s:"
    return Memory(int(offset or "0", 0), base and base[1:], index and index[1:], segment)


def register(operand: str) -> "Optional[Tuple[str, int]]":
    """The general register of which an operand is a part, and the size of the part; None of any other operand."""
    return PARTS.get(operand[1:]) if operand.startswith("%") else None


def _operands(text: str) -> "List[str]":
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
