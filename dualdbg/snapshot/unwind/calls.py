"""Whether a call lies before an address, so that the address may be where that call returns to. Pure.

Intel SDM volume 2, CALL; Arm ARM, BL, BLR and BLRAA.
"""

from __future__ import annotations

import struct

from ..linux.registers import AARCH64, Architecture

LONGEST = 7  # bytes of a call, without prefixes that compilers do not write
_DIRECT, _DIRECT_SIZE, _INDIRECT = 0xE8, 5, 0xFF
_BL, _BL_MASK, _BLR, _BLR_MASK = 0x94000000, 0xFC000000, 0xD63F0000, 0xFEFFF000


def ends_with_call(architecture: Architecture, code: bytes) -> bool:
    """Whether the last instruction of ``code``, of :data:`LONGEST` bytes, may be a call."""
    if architecture is AARCH64:
        return is_call_word(struct.unpack("<I", code[-4:])[0])
    if code[-_DIRECT_SIZE] == _DIRECT:
        return True
    return any(
        code[-size] == _INDIRECT and _size_of_indirect(code[1 - size :]) == size for size in (2, 3, 4, 6, 7)
    )


def is_call_word(word: int) -> bool:
    """Whether an instruction of AArch64 is bl, blr, or blr of a signed address."""
    return word & _BL_MASK == _BL or word & _BLR_MASK == _BLR


def _size_of_indirect(operand: bytes) -> int | None:
    """How long ``call *OPERAND`` is, with its opcode; None where the bytes are another instruction.

    ModRM has 2 in its middle bits. A SIB byte and the displacement follow as the manual has it.
    """
    mode, operation, base = operand[0] >> 6, operand[0] >> 3 & 7, operand[0] & 7
    if operation != 2:
        return None
    if mode == 3:
        return 2
    size = 2
    if base == 4:  # a SIB byte
        size += 1
        if len(operand) < 2:
            return None
        base = operand[1] & 7
    if mode == 0:
        return size + (4 if base == 5 else 0)
    return size + (1 if mode == 1 else 4)
