"""The readings of :mod:`placing` on AArch64: which registers arguments are in at the entry of a function.

Source: Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64), 6.8.2, as Linux has it. The place for a
result in memory is in x8 and takes none from the arguments. The code of a function is not looked at.
"""

from __future__ import annotations

import itertools
import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from .abi import AARCH64, ARGUMENTS
from .passed import Copied, OnStack, Place, Registers, object_of, value_of

INTEGERS = ARGUMENTS[AARCH64]
VECTORS = 8  # v0 to v7
_LARGEST = 16  # bytes that a class may have to be in general registers
_MOST_READINGS = 512


class Way(NamedTuple):
    """How one argument is passed: in ``general`` registers or in ``vectors`` of ``piece`` bytes each.

    ``copied``: what is passed is the address of a copy. ``size`` and ``align`` in bytes are those on the stack, None
    where they are not known. An argument of 16 bytes that is ``even`` begins in a register of an even number.
    """

    general: int
    vectors: int = 0
    piece: int = 8
    copied: bool = False
    size: Optional[int] = None
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
_POINTER = Way(1, size=8)
# A class or an enumeration of which nothing is known: its words, its numbers of floating point, or nothing.
_ANYHOW = (
    Way(1), Way(2), Way(2, even=True), Way(0, 1), Way(0, 2), Way(0, 3), Way(0, 4), Way(0),
)  # fmt: skip
_CHAR = re.compile(r"(?<!signed )\bchar\b(?!\*| const\*)")
_OTHER_FORM = re.compile(r"\blong double\b|\(.*::\*\)\(")


def shown_kind(kind: str) -> Optional[str]:
    """The type by whose rules an argument becomes text; None where the text of x86-64 would be wrong here.

    A plain char has no sign, and neither has wchar_t (AAPCS64, 10.1). A long double has 113 bits, and a pointer to a
    member function marks virtual ones in its other word (C++ ABI for AArch64, 3.2.1).
    """
    if _OTHER_FORM.search(kind):
        return None
    if "basic_string" not in kind:
        kind = _CHAR.sub("unsigned char", kind)
    return re.sub(r"\bwchar_t\b(?!\*| const\*)", "unsigned int", kind)


def ways_of(kind: str, by_address: Sequence[str]) -> Tuple[Way, ...]:
    """All ways in which a type may be passed."""
    bare = kind[: -len(" const")] if kind.endswith(" const") else kind
    value = value_of(bare)
    if bare in _FLOATING and value is not None:
        count, piece = _FLOATING[bare]
        return (Way(0, count, piece, size=value.size, align=max(8, value.align)),)
    if value is None:
        return (_POINTER,) if object_of(bare) is not None or bare in by_address else _ANYHOW
    if value.size > _LARGEST:
        return (_POINTER._replace(copied=True),)
    even = value.align == 16
    return (Way(-(-value.size // 8), size=-(-value.size // 8) * 8, align=16 if even else 8, even=even),)


def laid_out(
    kinds: Sequence[str], by_address: Sequence[str], member: Sequence[bool], table: Sequence[bool]
) -> "List[Tuple[bool, Tuple[Optional[Place], ...]]]":
    """Whether ``this`` is passed, and the place of each parameter, in each reading; none where there are too many.

    ``member`` and ``table`` are what may be true of each, as :class:`placing.Passing` has them.
    """
    ways = [ways_of(kind, by_address) for kind in kinds]
    count = len(member) * len(table)
    for one in ways:
        count *= len(one)
    if count > _MOST_READINGS:
        return []
    return [
        (is_member, _places(int(is_member) + int(has_table), combined))
        for combined in itertools.product(*ways)
        for is_member in member
        for has_table in table
        if is_member or not has_table
    ]


def _places(general: int, ways: Sequence[Way]) -> Tuple[Optional[Place], ...]:
    """The stages C.1 to C.16. ``general`` registers are taken already."""
    vectors = 0
    stack: Optional[int] = 0
    found: List[Optional[Place]] = []
    for way in ways:
        place: "Union[Registers, OnStack, None]" = None
        if way.vectors:
            fits = vectors + way.vectors <= VECTORS
            if fits:
                place = Registers(tuple(range(vectors, vectors + way.vectors)), way.piece)
            vectors = vectors + way.vectors if fits else VECTORS
        else:
            general += general % 2 if way.even else 0
            fits = general + way.general <= len(INTEGERS)
            if fits and way.general:
                place = Registers(tuple(INTEGERS[general : general + way.general]))
            general = general + way.general if fits else len(INTEGERS)
        if not fits:
            place, stack = _on_stack(stack, way)
        found.append(Copied(place) if way.copied and place is not None else place)
    return tuple(found)


def _on_stack(stack: Optional[int], way: Way) -> "Tuple[Optional[OnStack], Optional[int]]":
    if stack is None or way.size is None:
        return None, None
    start = -(-stack // way.align) * way.align
    return OnStack(start), start + -(-way.size // 8) * 8
