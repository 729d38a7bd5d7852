"""Instructions of AArch64 in the text that gdb has for them: where they go, and which registers they write. Pure."""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Set, Tuple

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


def copied(one: Instruction) -> "Optional[Tuple[str, str, int]]":
    """The register that an instruction copies, that to which it does, and how many bytes of it."""
    if one.name != "mov" or len(one.operands) != 2:
        return None
    target, source = (re.fullmatch(r"([xw])(\d+)", operand) for operand in one.operands)
    if target is None or source is None or target[1] != source[1]:
        return None
    return "x" + source[2], "x" + target[2], 8 if source[1] == "x" else 4
