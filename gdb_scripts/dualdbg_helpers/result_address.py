"""Where a call of AArch64 has its result made in memory: what the caller put into x8, by its instructions. Pure.

The address is passed in x8, and no register needs to have it when the function returns (AAPCS64, 6.9). The caller
computes it just before the call, from the stack pointer or from registers that calls preserve; those are as they were.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Sequence, Set, Tuple

Row = Tuple[int, str]  # an instruction: its address, and gdb's text of it

PRESERVED = tuple("x%d" % number for number in range(19, 29))  # by who is called: AAPCS64, 6.1.1
_REGISTER = re.compile(r"\b([xw])(\d+)\b")
_BRANCHES = re.compile(r"(?:b|b\.\w+|bc\.\w+|br(?:a[ab]z?)?|cbn?z|tbn?z)$")
_CALLS = re.compile(r"(?:bl|blra\w+|blr)$")
_ONLY_READS = re.compile(
    r"(?:cmp|cmn|tst|ccmp|ccmn|fcmpe?|fccmpe?|str[bh]?|stp|stnp|stur[bh]?|stlr[bh]?|prfu?m|nop|hint|bti|dmb|dsb|isb"
    r"|pac\w+sp|aut\w+sp|yield)$"
)
_WRITES_FIRST = re.compile(
    r"(?:mov[zkn]?|mvn|adds?|subs?|negs?|ands?|orr|orn|eor|eon|bics?|ls[lr]|asr|ror|madd|msub|mul|mneg|[su]mull"
    r"|[su]mulh|[su]m(?:add|sub)l|[su]div|csel|cs(?:inc|inv|neg)|csetm?|c(?:inc|inv|neg)|[su]?bfi?[xmzil]*|extr"
    r"|[su]xt[bhw]|cl[zs]|rbit|rev\d*|adrp?|ldu?r(?:s?[bh]|sw)?|mrs|[su]mov|fmov|fcvt\w+|adcs?|sbcs?|ngcs?)$"
)
_WRITES_TWO = re.compile(r"(?:ldn?p|ldpsw)$")


class Instruction(NamedTuple):
    """One instruction."""

    address: int
    name: str
    operands: List[str]

    @property
    def jumps(self) -> bool:
        """Whether it is a jump, on a condition or not."""
        return _BRANCHES.match(self.name) is not None

    @property
    def goes_on(self) -> bool:
        """Whether it is a jump on no condition."""
        return self.name == "b"

    @property
    def target(self) -> Optional[int]:
        """Where a direct jump goes."""
        match = re.match(r"0x[0-9a-f]+", self.operands[-1]) if self.operands else None
        return int(match.group(), 16) if match is not None else None

    @property
    def calls(self) -> bool:
        """Whether it is a call."""
        return _CALLS.match(self.name) is not None

    @property
    def returns(self) -> bool:
        """Whether it leads back to the caller."""
        return self.name.startswith("ret")

    def written(self) -> "Set[str]":
        """The general registers of which it may write a part; of an instruction that is not known all that it names."""
        if self.jumps or self.calls or self.returns:
            return set()
        count = 0 if _ONLY_READS.match(self.name) else 2 if _WRITES_TWO.match(self.name) else 1
        if count == 1 and not _WRITES_FIRST.match(self.name):
            return _named(" ".join(self.operands))
        found = _named(" ".join(self.operands[:count]))
        for at, operand in enumerate(self.operands):  # ``[x1, #8]!`` and ``[x1], #8`` write the base
            if operand.endswith("]!") or (operand.endswith("]") and at < len(self.operands) - 1):
                found |= _named(operand)
        return found


def _named(text: str) -> "Set[str]":
    return {"x" + number for _, number in _REGISTER.findall(text)}


def parsed(address: int, text: str) -> Instruction:
    """An instruction from its text."""
    name, _, rest = re.sub(r"\s*(?://|<).*$", "", text.strip()).partition("\t")
    if not rest:
        name, _, rest = name.partition(" ")
    operands = re.findall(r"\[[^\]]*\]!?|\{[^}]*\}[^,]*|[^,\s][^,]*", rest)
    return Instruction(address, name, [one.strip() for one in operands])


def register_copied(one: Instruction) -> "Optional[Tuple[str, str, int]]":
    """The register that an instruction copies, that to which it does, and how many bytes of it."""
    if one.name != "mov" or len(one.operands) != 2:
        return None
    target, source = (re.fullmatch(r"([xw])(\d+)", operand) for operand in one.operands)
    if target is None or source is None or target[1] != source[1]:
        return None
    return "x" + source[2], "x" + target[2], 8 if source[1] == "x" else 4


_X8 = "x8"
_BASES = ("sp", "x29", *PRESERVED)
_MEMORY = re.compile(r"\[(\w+)(?:, #(-?\w+))?\]$")


class Address(NamedTuple):
    """``offset`` from a register; where ``slot`` is not None, from what is in memory at the register and ``slot``."""

    register: str
    offset: int
    slot: Optional[int] = None


def result_address(rows: "Sequence[Row]", call: int, calls_it: bool) -> Optional[Address]:
    """The address for the result of the call at ``call``, in terms of registers when it has returned. None where that
    is not known, or where the call has no such result.

    ``rows``: the instructions of the caller's part around the call, without gaps. ``calls_it``: the call is known to
    call the function that has returned, which has its result in memory. Else it may call another that has jumped there,
    and x8 may have served for something; one that has been written and not been read was written for the call. What
    jumps in between from elsewhere would bring an x8 of its own: there nothing is known.
    """
    code = [parsed(*row) for row in rows]
    at = next((at for at, one in enumerate(code) if one.address == call), None)
    if at is None or not code[at].calls or _names(code[at], _X8):
        return None
    targets = {one.target for one in code if one.jumps}
    return _Backwards(_X8, calls_it).through(code[:at], targets) if call not in targets else None


class _Backwards:
    """What a register holds, followed from the call to where it comes from."""

    def __init__(self, wanted: str, may_be_read: bool) -> None:
        self._wanted = wanted
        self._may_be_read = may_be_read
        self._offset = 0
        self._slot: Optional[int] = None
        self._passed: Set[str] = set()  # registers that are written later, before the call
        self._stores = False  # whether memory is written later, before the call

    def through(self, code: "Sequence[Instruction]", targets: "Set[Optional[int]]") -> Optional[Address]:
        """Where the value comes from, by the instructions before the call. ``targets``: of the function's jumps."""
        for one in reversed(code):
            if one.calls or one.returns or (one.jumps and not self._falls_through(one)):
                return None
            copied = register_copied(one)
            if self._wanted in one.written():
                if not self._takes(one):
                    return None
                if self._keeps(self._wanted):
                    return Address(self._wanted, self._offset, self._slot)
            elif self._may_be_read:
                if (
                    copied is not None
                    and copied[0] == self._wanted
                    and copied[2] == 8
                    and self._keeps(copied[1])
                ):
                    return Address(copied[1], self._offset, self._slot)
            elif self._wanted == _X8 and _names(one, _X8):
                return None  # it serves something else
            self._passed |= one.written() | ({"sp"} if _changes_sp(one) else set())
            self._stores = self._stores or one.name.startswith("st")
            if one.address in targets or one.name == "bti":
                return None
        return None

    def _falls_through(self, one: Instruction) -> bool:
        """Whether the value is the same behind a jump that is not taken."""
        return self._may_be_read and not one.goes_on and one.target is not None

    def _keeps(self, register: str) -> bool:
        """Whether a register has behind the return what it has behind the instruction that is looked at."""
        return register in _BASES and register not in self._passed

    def _takes(self, one: Instruction) -> bool:
        """Go on with the register from which this instruction makes the value."""
        if self._slot is not None:
            return False
        target, *sources = one.operands
        if target != self._wanted:
            return False
        if one.name == "mov" and len(sources) == 1 and re.match(r"x\d|sp$", sources[0]):
            self._wanted = sources[0]
            return True
        number = _number(sources[1:])
        if one.name in ("add", "sub") and number is not None:
            self._wanted = sources[0]
            self._offset += number if one.name == "add" else -number
            return True
        found = _MEMORY.match(sources[0]) if one.name in ("ldr", "ldur") and len(sources) == 1 else None
        if found is None or found[1] not in ("sp", "x29") or self._stores:
            return False
        self._wanted, self._slot = found[1], int(found[2] or "0", 0)
        return True


def _number(operands: "Sequence[str]") -> Optional[int]:
    """The immediate of an addition: ``#0x1, lsl #12``."""
    number = re.match(r"#(\w+)$", operands[0]) if operands else None
    shift = re.match(r"lsl #(\w+)$", operands[1]) if len(operands) == 2 else None
    if number is None or len(operands) > 2 or (len(operands) == 2 and shift is None):
        return None
    return int(number[1], 0) << (int(shift[1], 0) if shift is not None else 0)


def _names(one: Instruction, register: str) -> bool:
    return re.search(r"\b[xw]%s\b" % register[1:], " ".join(one.operands)) is not None


def _changes_sp(one: Instruction) -> bool:
    """Whether an instruction writes the stack pointer: ``sub sp, sp, #16``, ``stp x0, x1, [sp, #-16]!``."""
    last = one.operands[-1] if one.operands else ""
    is_post = any(re.match(r"\[sp\]$", operand) for operand in one.operands[:-1])
    return one.operands[:1] == ["sp"] or (last.startswith("[sp") and last.endswith("!")) or is_post
