"""The readings of :mod:`placing` on AArch64: which registers arguments are in at the entry of a function.

Source: Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64), 6.8.2, as Linux has it. The place for a
result in memory is in x8 and takes none from the arguments.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from .abi import AARCH64, ARGUMENTS
from .passed import Copied, OnStack, Place, Registers, object_of, value_of

INTEGERS = ARGUMENTS[AARCH64]
VECTORS = 8  # v0 to v7
_LARGEST = 16  # bytes that a class may have to be in general registers


class Way(NamedTuple):
    """How one argument is passed: in ``general`` registers or in ``vectors`` of ``piece`` bytes each.

    ``copied``: what is passed is the address of a copy. ``size`` and ``align`` in bytes are those on the stack. An
    argument of 16 bytes that is ``even`` begins in a register of an even number.
    """

    general: int
    vectors: int = 0
    piece: int = 8
    copied: bool = False
    size: int = 8
    align: int = 8
    even: bool = False


# Numbers of floating point, and classes of nothing but some of one size: how many, and of how many bytes.
_FLOATING: Dict[str, Tuple[int, int]] = {
    "_Float16": (1, 2),
    "float": (1, 4),
    "double": (1, 8),
    "long double": (1, 16),
    **{
        outer % word: (2, size)
        for word, size in (("float", 4), ("double", 8))
        for outer in ("%s _Complex", "std::complex<%s>", "c10::complex<%s>")
    },
}
_POINTER = Way(1)
_CHAR = re.compile(r"(?<!signed )\bchar\b(?!\*| const\*)")
_OTHER_FORM = re.compile(r"\blong double\b")


def shown_kind(kind: str) -> Optional[str]:
    """The type by whose rules an argument becomes text; None where the text of x86-64 would be wrong here.

    A plain char has no sign, and neither has wchar_t (AAPCS64, 10.1). A long double has 113 bits.
    """
    if _OTHER_FORM.search(kind):
        return None
    if "basic_string" not in kind:
        kind = _CHAR.sub("unsigned char", kind)
    return re.sub(r"\bwchar_t\b(?!\*| const\*)", "unsigned int", kind)


def way_of(kind: str, by_address: Sequence[str]) -> Optional[Way]:
    """How a type is passed; None where nothing is known of it."""
    bare = kind[: -len(" const")] if kind.endswith(" const") else kind
    value = value_of(bare)
    if bare in _FLOATING and value is not None:
        count, piece = _FLOATING[bare]
        return Way(0, count, piece, size=value.size, align=max(8, value.align))
    if value is None:
        return _POINTER if object_of(bare) is not None or bare in by_address else None
    if value.size > _LARGEST:
        return _POINTER._replace(copied=True)
    even = value.align == 16
    return Way(-(-value.size // 8), size=-(-value.size // 8) * 8, align=16 if even else 8, even=even)


def laid_out(kinds: Sequence[str], by_address: Sequence[str], general: int) -> "List[Optional[Place]]":
    """The place of each parameter behind the first ``general`` registers: the stages C.1 to C.16."""
    vectors = stack = 0
    found: List[Optional[Place]] = []
    for way in (way_of(kind, by_address) for kind in kinds):
        if way is None:
            break
        place: "Union[Registers, OnStack]"
        if way.vectors:
            fits = vectors + way.vectors <= VECTORS
            place = Registers(tuple(range(vectors, vectors + way.vectors)), way.piece)
            vectors = vectors + way.vectors if fits else VECTORS
        else:
            general += general % 2 if way.even else 0
            fits = general + way.general <= len(INTEGERS)
            place = Registers(tuple(INTEGERS[general : general + way.general]))
            general = general + way.general if fits else len(INTEGERS)
        if not fits:
            start = -(-stack // way.align) * way.align
            place, stack = OnStack(start), start + -(-way.size // 8) * 8
        found.append(Copied(place) if way.copied else place)
    return found + [None] * (len(kinds) - len(found))
