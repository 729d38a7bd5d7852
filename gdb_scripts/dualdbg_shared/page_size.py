"""How large the pages of memory are: those of this machine's kernel, or of the one that a core is from.

AArch64 has kernels with pages of 4, 16 and 64 KiB. A kernel maps files by whole pages of its own
size. A process that lives is one of this machine's; a core may be from another one.
"""

import os
import struct
from typing import Optional

SMALLEST = 4096  # of all kernels; the others are multiples of it
_AT_PAGESZ = 6  # linux/auxvec.h


def of_this_machine() -> int:
    """Bytes."""
    return os.sysconf("SC_PAGE_SIZE")


def told_by(auxv: bytes) -> Optional[int]:
    """What the kernel has told a process by its auxiliary vector (getauxval(3)), of which a core has a copy."""
    pairs = struct.iter_unpack("<QQ", auxv[: len(auxv) // 16 * 16])
    return next((value for key, value in pairs if key == _AT_PAGESZ), None)
