"""What a function's machine code points to: the addresses that its operands may name.

On x86-64 position-independent code names data by its distance from the instruction pointer, a signed 32-bit number
that mostly ends the instruction. Every four bytes of the code are read as such a distance; the caller keeps what
leads to a place that it knows, which a chance match hardly ever does.

On AArch64 adrp puts the address of a page into a register, and a later add or ldr has the offset in it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .elf_file import EM_AARCH64, EM_X86_64, ElfFile

_DISTANCE = struct.Struct("<i")
_WORD = struct.Struct("<I")
_MAX_CODE = 1 << 20


def targets(elf: ElfFile, address: int, size: int) -> Iterator[int]:
    """The link-time addresses that ``size`` bytes of code at ``address`` may refer to, in the code's order."""
    offset = elf.offset_of(address)
    if offset is None or size <= 0:
        return
    code = elf.bytes_at(offset, min(size, _MAX_CODE))
    if elf.machine == EM_X86_64:
        for at in range(len(code) - 3):
            yield address + at + 4 + _DISTANCE.unpack_from(code, at)[0]
    elif elf.machine == EM_AARCH64:
        yield from _arm_targets(code[: len(code) // 4 * 4], address)


def _arm_targets(code: bytes, address: int) -> Iterator[int]:
    """In the order of the code, whatever way control takes. Encodings: Arm ARM, C6.2."""
    pages: dict[int, int] = {}  # by register
    for at, (word,) in enumerate(_WORD.iter_unpack(code)):
        base, twelve = word >> 5 & 31, word >> 10 & 0xFFF
        if word & 0x9F000000 == 0x90000000:  # adrp
            distance = (word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3
            distance -= (distance & 1 << 20) << 1
            pages[word & 31] = (address + 4 * at & ~0xFFF) + (distance << 12)
            continue
        if base in pages and word & 0xFFC00000 == 0x91000000:  # add, 64 bits
            yield pages[base] + twelve
        elif base in pages and word & 0xFFC00000 == 0xF9400000:  # ldr, 64 bits
            yield pages[base] + 8 * twelve
        if word & 0x1C000000 == 0x14000000:  # a branch; a call keeps x19 and up
            is_call = word >> 26 == 0x25 or word & 0xFEFFF000 == 0xD63F0000
            pages = {register: page for register, page in pages.items() if register > 18 or not is_call}
        elif word & 0x0A400000 != 0x08000000:  # no store: the register in the lowest bits is written
            pages.pop(word & 31, None)
