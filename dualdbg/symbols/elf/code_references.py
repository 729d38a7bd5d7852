"""What a function's machine code points to: the addresses that its operands may name, on x86-64.

Position-independent code names data by its distance from the instruction pointer, a signed 32-bit number that
mostly ends the instruction. Every four bytes of the code are read as such a distance; the caller keeps what
leads to a place that it knows, which a chance match hardly ever does.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .elf_file import EM_X86_64, ElfFile

_DISTANCE = struct.Struct("<i")
_MAX_CODE = 1 << 20


def targets(elf: ElfFile, address: int, size: int) -> Iterator[int]:
    """The link-time addresses that ``size`` bytes of code at ``address`` may refer to, in the code's order."""
    offset = elf.offset_of(address)
    if elf.machine != EM_X86_64 or offset is None or size <= 0:
        return
    code = elf.bytes_at(offset, min(size, _MAX_CODE))
    for at in range(len(code) - 3):
        yield address + at + 4 + _DISTANCE.unpack_from(code, at)[0]
