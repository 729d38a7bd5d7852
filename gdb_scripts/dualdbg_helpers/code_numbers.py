"""Which arguments a number can be that a caller has in its code. Pure.

Such a number is no address of the program: of what is loaded at any address nothing but the linker knows the address.
"""

from __future__ import annotations

import re
from typing import Optional, Sequence

from .passed import is_number, object_of, value_of

# Bytes from 0 on (vm.mmap_min_addr): there are members of what a null pointer leads to.
_NEVER_MAPPED = 1 << 16
_REFERENCE = re.compile(r"(?: const)?&&?$")


def can_be(number: int, kind: str, by_address: "Sequence[str]") -> bool:
    """Whether a compiler can have put a number of 64 bits, at which there is nothing, into a register for an argument.

    ``by_address``: types that are passed by their address, whatever else they are.
    """
    if _REFERENCE.search(kind):
        # A reference to a member of what a null pointer leads to is an error that programs have.
        return number < _NEVER_MAPPED and number % _alignment(_REFERENCE.sub("", kind)) == 0
    if kind in by_address or object_of(kind) is not None:
        return False  # of a copy that the caller has made
    if kind == "bool":
        return number < 2
    if not is_number(kind):
        return True
    value = value_of(kind)
    bits = 8 * value.size if value is not None else 64
    # GCC extends what is shorter than 32 bits as its sign says, and leaves the upper half of the register as it is.
    whole = 64 if number >> 32 else 32
    return number < 1 << bits or (1 << whole) - number <= 1 << (bits - 1)


def _alignment(kind: str) -> int:
    value, found = value_of(kind), object_of(kind)
    known: Optional[int] = value.align if value is not None else found.align if found is not None else None
    return known or 1
