"""Where arguments are at the entry of a function, by its mangled name or its schema and the ABI.

The mangled name tells neither whether a hidden argument says where the result is to be made, nor whether ``this`` is
passed. So each way in which the function may be called is laid out (System V ABI for AMD64, 3.2.3; AAPCS64, 6.8.2),
and an argument is where all of them agree. What follows a class of which nothing is known is not known.
"""

from __future__ import annotations

import itertools
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import placing_arm
from .abi import AARCH64, X86_64
from .passed import FLOATS, INTEGER, INTEGERS, OnStack, Place, Registers, Value, object_of, value_of

VARIADIC = "..."
_POINTER_WORDS = (INTEGER,)


class Passing(NamedTuple):
    """What is known of the call of a function.

    ``parameters``: name and type of each. ``hidden``: a first argument says where the result is to be made, which the
    type ``result`` tells where that is known; ``member``: then comes ``this``; ``table``: then comes a table of the
    bases that are virtual (constructors and destructors of such bases). None: not known. ``by_address``: types whose
    copy is not trivial. ``this``: the class, where ``this`` is to be shown. ``as_written``: types are shown as C++ has
    them, else as PyTorch's users write them. ``machine``: :data:`X86_64` or :data:`AARCH64`, or None for another one.
    """

    parameters: List[Tuple[str, str]]
    hidden: Optional[bool]
    member: Optional[bool]
    result: Optional[str] = None
    table: Optional[bool] = False
    by_address: Sequence[str] = ()
    this: Optional[str] = None
    as_written: bool = False
    machine: Optional[str] = X86_64


def passing(raw: "Dict[str, Any]", machine: "Optional[str]" = X86_64) -> Passing:
    """What the session has sent, for a function of this machine."""
    return Passing(
        [(name, kind) for name, kind in raw["parameters"]],
        raw["hidden"],
        raw["member"],
        raw.get("result"),
        raw.get("table", False),
        raw.get("by_address", ()),
        raw.get("this"),
        raw.get("as_written", False),
        machine,
    )


def agreed(what: Passing) -> "Iterator[Tuple[str, str, Optional[Place]]]":
    """Name, type and place of each argument; ``this`` first where it is passed, or may be."""
    is_arm = what.machine == AARCH64
    parameters = [(name, kind) for name, kind in what.parameters if kind != VARIADIC]
    hidden, member, table = (
        (flag,) if flag is not None else (False, True)
        for flag in (False if is_arm else _is_hidden(what), what.member, what.table)
    )
    ways = [way for way in itertools.product(hidden, member, table) if way[1] or not way[2]]
    kinds = [kind for _, kind in parameters]
    if is_arm:
        found = [placing_arm.laid_out(kinds, what.by_address, sum(way)) for way in ways]
    else:
        values = [words_of(kind, what.by_address) for kind in kinds]
        found = [_laid_out(sum(way), values) for way in ways]
    if what.this is not None and what.member is not False:
        order = placing_arm.INTEGERS if is_arm else INTEGERS
        is_certain = what.member and len(hidden) == 1
        yield "this", what.this + "*", Registers((order[int(hidden[0])],)) if is_certain else None
    for (name, kind), column in zip(parameters, zip(*found)):
        yield name, kind, column[0] if len(set(column)) == 1 else None


def words_of(kind: str, by_address: "Sequence[str]") -> "Optional[Value]":
    """How a type is passed; None where nothing is known of it."""
    value = value_of(kind)
    if value is None and (object_of(kind) is not None or kind in by_address):
        return Value(8, 8, _POINTER_WORDS, lambda target, data: "")
    return value


def shown_kind(kind: str, what: Passing) -> "Optional[str]":
    """The type by whose rules an argument becomes text; None where it is not known what its bytes mean."""
    if words_of(kind, what.by_address) is None:
        return None
    return placing_arm.shown_kind(kind) if what.machine == AARCH64 else kind


def _is_hidden(what: Passing) -> "Optional[bool]":
    if what.hidden is not None or what.result is None:
        return what.hidden
    if what.result == "void":
        return False
    value = value_of(what.result)
    if value is not None:
        return value.in_memory and what.result != "long double"  # that one is in a register of the x87
    return True if object_of(what.result) is not None or what.result in what.by_address else None


def _laid_out(integers: int, values: "Sequence[Optional[Value]]") -> "List[Optional[Place]]":
    """The place of each parameter, on x86-64, behind the first ``integers`` registers."""
    floats = stack = 0
    found: "List[Optional[Place]]" = []
    for value in values:
        if value is None:
            break
        wanted = value.words.count(INTEGER)
        vectors = len(value.words) - wanted
        if value.in_memory or integers + wanted > len(INTEGERS) or floats + vectors > FLOATS:
            align = max(value.align, 8)
            start = -(-stack // align) * align
            found.append(OnStack(start))
            stack = start + -(-value.size // 8) * 8
            continue
        words: "List[Union[str, int]]" = []
        for word in value.words:
            if word == INTEGER:
                words.append(INTEGERS[integers])
                integers += 1
            else:
                words.append(floats)
                floats += 1
        found.append(Registers(tuple(words)))
    return found + [None] * (len(values) - len(found))
