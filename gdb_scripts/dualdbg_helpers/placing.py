"""Where arguments are at the entry of a function, by everything that may be true of it and is not refuted.

The mangled name of a function tells neither whether a hidden argument says where the result is to be made, nor whether
``this`` is passed, nor how a class is passed that nothing is known of. So all readings are laid out (System V ABI for
AMD64, 3.2.3), those are dropped which the code of the function refutes (:mod:`entry_code`), and an argument is where
all that are left agree.
"""

from __future__ import annotations

import itertools
from typing import (
    Any,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

from . import placing_arm
from .abi import AARCH64, X86_64
from .code_numbers import can_be
from .entry_code import FLOATS as VECTORS
from .entry_code import Evidence
from .passed import FLOATS, INTEGER, INTEGERS, SSE, OnStack, Place, Registers, Value, object_of, value_of

VARIADIC = "..."
_POINTER_WORDS = (INTEGER,)
# How a class or an enumeration may be passed of which nothing is known: in these words, or in memory (None).
_ANYHOW: Tuple[Optional[Tuple[str, ...]], ...] = (
    (INTEGER,), (INTEGER, INTEGER), (INTEGER, SSE), (SSE, INTEGER), (SSE,), (SSE, SSE), (), None,
)  # fmt: skip
_ON_STACK = {1: ((8, 8), (16, 16)), 2: ((16, 8), (16, 16)), 0: ((0, 1),)}  # size and alignment, by the words
_VECTORS = ((32, 32), (64, 64))
_SMALLEST_IN_MEMORY, _LARGEST_LOOKED_AT = 16, 128
_MOST_READINGS = 2000


class Call(NamedTuple):
    """What the call of a function tells, by the code of the caller: registers that are ``filled`` for it; ``registers``
    and ``words`` of the stack (from the stack pointer at the call) that may be, and no others, None where that is not
    known; at ``least`` how many bytes are passed on the stack, and at ``most``, None where that is not known. To the
    addresses ``taken`` of the stack, and behind them, something may have been copied. ``numbers``: of registers that
    are filled those with a number that stands in the code, at which nothing is in memory.
    """

    filled: Sequence[str] = ()
    registers: Optional[Sequence[str]] = None
    words: Optional[Sequence[int]] = None
    least: int = 0
    taken: Sequence[int] = ()
    most: Optional[int] = None
    numbers: Mapping[str, int] = {}


class Passing(NamedTuple):
    """What is known of the call of a function before its code is looked at.

    ``parameters``: name and type of each. ``hidden``: a first argument says where the result is to be made, which the
    type ``result`` tells where that is known; ``member``: then comes ``this``; ``table``: then comes a table of the
    bases that are virtual (constructors and destructors of such bases). None: not known. ``by_address``: types whose
    copy is not trivial. ``this``: the class, where ``this`` is to be shown. ``evidence``: what the code tells; None
    where it was not looked at. ``as_written``: types are shown as C++ has them, else as PyTorch's users write them.
    ``call``: what this call of it tells. ``callers_fill``: callers pass every parameter; else there may be anything in
    the place of one which the function does not use. ``machine``: :data:`X86_64` or :data:`AARCH64`, or None for
    another one.
    """

    parameters: List[Tuple[str, str]]
    hidden: Optional[bool]
    member: Optional[bool]
    result: Optional[str] = None
    table: Optional[bool] = False
    by_address: Sequence[str] = ()
    this: Optional[str] = None
    evidence: Optional[Evidence] = None
    as_written: bool = False
    call: Call = Call()
    callers_fill: bool = True
    machine: Optional[str] = X86_64


class Reading(NamedTuple):
    """One way in which the arguments may be passed: for each parameter its place, None where that is not known."""

    hidden: bool
    member: bool
    places: Tuple[Optional[Place], ...]
    registers: Dict[
        str, Optional[int]
    ]  # that are used; and the bytes that count, None where that is not known
    stack: Optional[int]  # bytes of it that are used, None where that is not known
    whole: "Tuple[Place, ...]"  # the places of what callers fill for certain: numbers and pointers


def passing(raw: "Dict[str, Any]", machine: "Optional[str]" = X86_64) -> Passing:
    """What the session has sent, for a function of this machine."""
    evidence = raw.get("evidence")
    callers_fill = raw.get("callers_fill", True)
    return Passing(
        [(name, kind) for name, kind in raw["parameters"]],
        raw["hidden"],
        raw["member"],
        raw.get("result"),
        raw.get("table", False),
        raw.get("by_address", ()) if callers_fill else (),  # Clang alone has [[clang::trivial_abi]]
        raw.get("this"),
        Evidence(**evidence) if evidence is not None else None,
        raw.get("as_written", False),
        Call(**raw["call"]) if raw.get("call") is not None else Call(),
        callers_fill,
        machine,
    )


def words_of(kind: str, by_address: "Sequence[str]") -> "Optional[Value]":
    """How a type is passed; None where nothing is known of it."""
    value = value_of(kind)
    if value is None and (object_of(kind) is not None or kind in by_address):
        return Value(8, 8, _POINTER_WORDS, lambda target, data: "")
    return value


def readings(what: Passing) -> "List[Reading]":
    """All readings that nothing refutes; empty where there are too many."""
    if what.machine == AARCH64:
        return _of_arm(what)
    is_foreign = what.evidence is not None and what.evidence.foreign
    if is_foreign or ("rcx" in what.call.filled and not {"rdi", "rsi"} & {*what.call.filled}):
        return []  # Microsoft's ABI begins with rcx
    kinds = [kind for _, kind in what.parameters if kind != VARIADIC]
    known = [words_of(kind, what.by_address) for kind in kinds]
    hidden, member, table = (
        (flag,) if flag is not None else (False, True) for flag in (_is_hidden(what), what.member, what.table)
    )
    found = []
    for is_hidden, is_member, has_table in itertools.product(hidden, member, table):
        if is_member or not has_table:
            for one in _laid_out(is_hidden, is_member, has_table, known, what.call):
                found.append(one)
                if len(found) > _MOST_READINGS:
                    return []
    variadic = len(kinds) < len(what.parameters)
    if variadic:
        return found
    evidence = what.evidence if what.evidence is not None else Evidence()
    if not what.callers_fill:
        evidence = evidence._replace(
            exact=False
        )  # other compilers than GCC have other ways to store parameters
    return [
        one
        for one in found
        if _agrees(one, evidence) and _is_filled(one, what.call) and _is_of_types(one, kinds, what)
    ]


def registers_of(what: Passing) -> "FrozenSet[str]":
    """The registers in which a function may be given something."""
    found = readings(what)
    is_all = not found or any(kind == VARIADIC for _, kind in what.parameters)
    return frozenset((*INTEGERS, *VECTORS) if is_all else itertools.chain(*(one.registers for one in found)))


def most_on_stack(what: Passing) -> Optional[int]:
    """How many bytes a function may be given on the stack; None where that is not known."""
    sizes = [one.stack for one in readings(what)]
    if not sizes or None in sizes or any(kind == VARIADIC for _, kind in what.parameters):
        return None
    return max(size for size in sizes if size is not None)


def _is_filled(reading: Reading, call: Call) -> bool:
    """Whether a call can be one of a function that is called as the reading says."""
    filled = call.filled if _is_first_of_each(call.filled) else ()
    if not set(filled) <= set(reading.registers):
        return False
    if reading.stack is not None and not call.least <= reading.stack <= (
        call.most if call.most is not None else reading.stack
    ):
        return False
    for place in reading.whole:
        if isinstance(place, OnStack):
            if call.words is not None and place.offset not in call.words:
                return False
        elif isinstance(place, Registers) and call.registers is not None:
            names = {VECTORS[word] if isinstance(word, int) else word for word in place.words}
            if not names <= {*call.registers}:
                return False
    return True


def _is_of_types(reading: Reading, kinds: "Sequence[str]", what: Passing) -> bool:
    """Whether the numbers that the call has in its code can be arguments of the types."""
    return all(
        can_be(what.call.numbers[word], kind, what.by_address)
        for kind, place in zip(kinds, reading.places)
        if isinstance(place, Registers) and len(place.words) == 1
        for word in place.words
        if isinstance(word, str) and word in what.call.numbers
    )


def _of_arm(what: Passing) -> "List[Reading]":
    kinds = [kind for _, kind in what.parameters if kind != VARIADIC]
    member, table = ((flag,) if flag is not None else (False, True) for flag in (what.member, what.table))
    found = placing_arm.laid_out(kinds, what.by_address, member, table)
    return [Reading(False, is_member, places, {}, None, ()) for is_member, places in found]


def _is_first_of_each(names: "Sequence[str]") -> bool:
    """Whether registers are the first of their kind: what is filled otherwise may be for another ABI
    (``__attribute__((ms_abi))``).
    """
    return all(
        {name for name in names if name in order} == set(order[: sum(name in order for name in names)])
        for order in (INTEGERS, VECTORS)
    )


def _is_hidden(what: Passing) -> "Optional[bool]":
    if what.hidden is not None or what.result is None:
        return what.hidden
    if what.result == "void":
        return False
    value = value_of(what.result)
    if value is not None:
        return value.in_memory and what.result != "long double"  # that one is in a register of the x87
    return True if object_of(what.result) is not None or what.result in what.by_address else None


def places(what: Passing, found: "Sequence[Reading]") -> "List[Optional[Place]]":
    """Where each parameter is on which all readings agree."""
    count = len(what.parameters)
    rows = [reading.places for reading in found] or [()]
    agreed: List[Optional[Place]] = []
    for at in range(count):
        column = {row[at] if at < len(row) else None for row in rows}
        agreed.append(column.pop() if len(column) == 1 else None)
    return agreed


def shown_kind(kind: str, what: Passing) -> "Optional[str]":
    """The type by whose rules an argument becomes text; None where it is not known what its bytes mean."""
    if words_of(kind, what.by_address) is None:
        return None
    return placing_arm.shown_kind(kind) if what.machine == AARCH64 else kind


def this_place(
    found: "Sequence[Reading]", machine: "Optional[str]"
) -> "Tuple[Optional[bool], Optional[Place]]":
    """Whether ``this`` is passed, None where that is not known; and where."""
    members = {reading.member for reading in found}
    hidden = {reading.hidden for reading in found}
    if len(members) != 1:
        return None, None
    member = members.pop()
    if not member or len(hidden) != 1:
        return member, None
    order = placing_arm.INTEGERS if machine == AARCH64 else INTEGERS
    return True, Registers((order[int(hidden.pop())],))


class _Used(NamedTuple):
    """What the parameters before have used."""

    integers: int
    floats: int
    stack: Optional[int]
    places: Tuple[Optional[Place], ...]
    registers: Tuple[Tuple[str, Optional[int]], ...]
    whole: Tuple[Place, ...]


def _laid_out(
    hidden: bool, member: bool, table: bool, values: "Sequence[Optional[Value]]", call: Call
) -> "Iterator[Reading]":
    """The readings in which the parameters have these values; None for one of a type of which nothing is known."""
    count = int(hidden) + int(member) + int(table)
    first = tuple(Registers((name,)) for name in INTEGERS[:count])
    waiting = [_Used(count, 0, 0, (), tuple((name, 8) for name in INTEGERS[:count]), first)]
    while waiting:
        used = waiting.pop()
        if len(used.places) == len(values):
            yield Reading(hidden, member, used.places, dict(used.registers), used.stack, used.whole)
            continue
        value = values[len(used.places)]
        if value is not None:
            waiting.append(_with(used, value.words, value.size, ((value.size, value.align),), value.whole)[0])
            continue
        for words in _ANYHOW:
            sizes = _in_memory(used.stack, call) if words is None else _sizes(words)
            waiting.extend(_with(used, words, None, sizes, False))


def _sizes(words: "Tuple[str, ...]") -> "Tuple[Tuple[int, int], ...]":
    """Size and alignment that a class may have on the stack which is passed in such words."""
    return _ON_STACK[len(words)] + (_VECTORS if words == (SSE,) else ())


def _in_memory(start: Optional[int], call: Call) -> "Iterator[Tuple[Optional[int], int]]":
    """Size and alignment of a class that the caller may have copied to the stack; None where it may be of any size."""
    if start is None or call.words is None:
        yield None, 8
        return
    for align in (8, 16):
        begin = -(-start // align) * align
        if align == 16 and begin == start:
            continue
        end = next(at for at in itertools.count(begin, 8) if at not in call.words)
        if any(begin <= one <= end for one in call.taken):
            end = max((begin + _LARGEST_LOOKED_AT, *call.words))
            yield None, align
        for size in range(_SMALLEST_IN_MEMORY, end - begin + 1, 8):
            yield size, align


def _with(
    used: _Used,
    words: "Optional[Tuple[str, ...]]",
    size: Optional[int],
    sizes: "Iterable[Tuple[Optional[int], int]]",
    is_whole: bool,
) -> "List[_Used]":
    """After one parameter more: in registers if there are enough, else on the stack with one of the ``sizes``."""
    wanted = words.count(INTEGER) if words is not None else 0
    vectors = len(words) - wanted if words is not None else 0
    integers, floats, found = used.integers, used.floats, []
    is_long = words is None or len(words) > 2
    if is_long or integers + wanted > len(INTEGERS) or floats + vectors > FLOATS:
        for one, align in sizes:
            place, stack = _on_stack(used.stack, one, align)
            whole = (*used.whole, place) if place is not None and is_whole else used.whole
            shown = place if size is not None else None
            found.append(used._replace(stack=stack, places=(*used.places, shown), whole=whole))
        return found
    names: List[Union[str, int]] = []
    registers = list(used.registers)
    for word in words or ():
        if word == INTEGER:
            names.append(INTEGERS[integers])
            registers.append((INTEGERS[integers], size))
            integers += 1
        else:
            names.append(floats)
            registers.append((VECTORS[floats], None))
            floats += 1
    place = Registers(tuple(names)) if names else None
    whole = (*used.whole, place) if place is not None and is_whole else used.whole
    return [_Used(integers, floats, used.stack, (*used.places, place), tuple(registers), whole)]


def _on_stack(
    stack: "Optional[int]", size: "Optional[int]", align: "Optional[int]"
) -> "Tuple[Optional[Place], Optional[int]]":
    if stack is None or size is None or align is None:
        return None, None
    align = max(align, 8)
    start = -(-stack // align) * align
    return OnStack(start), start + -(-size // 8) * 8


def _agrees(reading: Reading, evidence: Evidence) -> bool:
    """Whether what the code does with registers can be, if they are used as the reading says."""
    used = reading.registers
    if not set(evidence.read) <= set(used):
        return False
    if evidence.stack is not None and reading.stack is not None and evidence.stack >= reading.stack:
        return False
    if any(used[name] is not None and (used[name] or 0) <= 4 for name in evidence.wide if name in used):
        return False
    if not evidence.exact:
        return True
    return set(used) == set(evidence.read) and all(used[name] != 8 for name in evidence.narrow)


def _is_given(place: "Optional[Place]", what: Passing) -> bool:
    """Whether the caller has put an argument into its place for certain."""
    evidence = what.evidence if what.evidence is not None else Evidence()
    words = place.words if isinstance(place, Registers) else (None,)  # else in memory
    names = [VECTORS[word] if isinstance(word, int) else word for word in words]
    if evidence.lost and any(name is None or name in evidence.lost for name in names):
        return False
    return what.callers_fill or all(name in evidence.read for name in names)


def agreed(what: Passing) -> "Iterator[Tuple[str, str, Optional[Place]]]":
    """Name, type and place of each argument; ``this`` first where it is passed, or may be."""
    found = readings(what)
    member, place = this_place(found, what.machine) if found else (what.member, None)
    if what.this is not None and member is not False:
        yield "this", what.this + "*", place if _is_given(place, what) else None
    for (name, kind), where in zip(what.parameters, places(what, found)):
        if kind != VARIADIC:
            yield name, kind, where if _is_given(where, what) else None
