"""What a call instruction calls, as gdb's disassembly says. For x86-64 and AArch64; pure."""

from __future__ import annotations

import re
from typing import NamedTuple, Sequence

_X86_CALL = re.compile(r"(?:bnd |notrack )*callq?\s+(.*)")
_X86_JUMP = re.compile(r"(?:bnd |notrack )*jmpq?\s+\*.*#\s*(0x[0-9a-f]+)")
_X86_SLOT = re.compile(r"\*.*\(%rip\).*#\s*(0x[0-9a-f]+)")
_X86_REGISTER = re.compile(r"\*%(\w+)$")
_X86_MEMORY = re.compile(r"\*(-?0x[0-9a-f]+)?\((?:%(\w+))?(?:,%(\w+),(\d))?\)$")
_ARM_CALL = re.compile(r"blr?(?:a[ab]z?)?\s+(.*)")
_ARM_REGISTER = re.compile(r"(x\d+)")
_ARM_PAGE = re.compile(r"adrp\s+x16, (0x[0-9a-f]+)")
_ARM_SLOT = re.compile(r"ldr\s+x17, \[x16(?:, #(\w+))?\]")
_ARM_FAR = re.compile(r"add\s+x16, x16, #(\w+)")
_DIRECT = re.compile(r"(0x[0-9a-f]+)")
STUB = 5  # instructions of a stub that are looked at


class Target(NamedTuple):
    """Where a call goes: to an address, to what the word at ``slot`` says, or to what registers say.

    ``register`` has the address itself. ``memory``: offset, base, index and scale of the word that has it.
    """

    address: int | None = None
    slot: int | None = None
    register: str | None = None
    memory: tuple[int, str | None, str | None, int] | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether it is the same at each call."""
        return self.address is not None or self.slot is not None


def called(architecture: str, text: str) -> Target | None:
    """What an instruction calls. None for one that is no call, or whose operand cannot be read."""
    is_arm = architecture.startswith("aarch64")
    call = (_ARM_CALL if is_arm else _X86_CALL).match(text.strip())
    if call is None:
        return None
    operand = call.group(1)
    if (match := _DIRECT.match(operand)) is not None:
        return Target(address=int(match.group(1), 16))
    if is_arm:
        match = _ARM_REGISTER.match(operand)
        return Target(register=match.group(1)) if match is not None else None
    if (match := _X86_SLOT.match(operand)) is not None:
        return Target(slot=int(match.group(1), 16))
    if (match := _X86_REGISTER.match(operand)) is not None:
        return Target(register=match.group(1))
    if (match := _X86_MEMORY.match(operand)) is not None:
        offset, base, index, scale = match.groups()
        return Target(memory=(int(offset or "0", 16), base, index, int(scale or 1)))
    return None


def is_call(architecture: str, text: str) -> bool:
    """Whether an instruction is a call, whatever it calls."""
    return (_ARM_CALL if architecture.startswith("aarch64") else _X86_CALL).match(text.strip()) is not None


def behind_stub(architecture: str, texts: Sequence[str]) -> Target | None:
    """Where a stub of these instructions jumps to; None where they are none.

    An entry of the procedure linkage table (System V AMD64 ABI, 5.2; AAELF64), or what a linker of AArch64 puts
    between a call and a function that is too far for it.
    """
    texts = [text.strip() for text in texts]
    while texts and texts[0].startswith(("endbr", "bti")):
        texts = texts[1:]
    if not texts:
        return None
    if not architecture.startswith("aarch64"):
        match = _X86_JUMP.match(texts[0])
        return Target(slot=int(match.group(1), 16)) if match is not None else None
    page = _ARM_PAGE.match(texts[0])
    if page is None or len(texts) < 3:
        return None
    slot, far = _ARM_SLOT.match(texts[1]), _ARM_FAR.match(texts[1])
    jumps = [text.split()[-1] for text in texts[2:] if text.startswith("br")][:1]
    if slot is not None and jumps == ["x17"]:
        return Target(slot=int(page.group(1), 16) + int(slot.group(1) or "0", 0))
    if far is not None and jumps == ["x16"]:
        return Target(address=int(page.group(1), 16) + int(far.group(1), 0))
    return None
