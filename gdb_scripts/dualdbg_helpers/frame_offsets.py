"""How far the stack and frame pointers of a function are from the stack pointer at its entry. For x86-64; pure."""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, NamedTuple, Optional

from .att import Instruction, Memory, memory
from .entry_code import Code


class Offsets(NamedTuple):
    """``rsp`` and ``rbp``, less ``rsp`` at the entry: None where that is not known."""

    pointer: Optional[int]
    base: Optional[int]

    def of(self, place: Memory) -> Optional[int]:
        """Where a place is, less the stack pointer at the entry; None where it is not on the stack for certain."""
        if place.scaled is not None or place.segment:
            return None
        start = {"rsp": self.pointer, "rbp": self.base}.get(place.base or "")
        return None if start is None else start + place.offset


NOT_KNOWN = Offsets(None, None)


def offsets(code: Code, pads: "Iterable[int]" = ()) -> "Dict[int, Offsets]":
    """By address, before the instruction there. ``pads``: where exceptions land, with a stack that is not known.

    Where a jump through a table may lead anywhere, only the beginning up to the first jump is in it.
    """
    start = Offsets(0, None)
    if not code.complete:
        found, now = {}, start
        for one in code.straight():
            found[one.address] = now
            now = behind(one, now)
        return found
    known = {pad: NOT_KNOWN for pad in pads if pad in code.rows}
    known[code.entry] = start
    waiting = [*known]
    while waiting:
        one = code.rows[waiting.pop()]
        left = behind(one, known[one.address])
        for at in code.following(one):
            before = known.get(at)
            now = left if before is None else Offsets(*(x if x == y else None for x, y in zip(before, left)))
            if now != before:
                known[at] = now
                waiting.append(at)
    return known


def behind(one: Instruction, now: Offsets) -> Offsets:
    """The same behind an instruction."""
    pointer, base = now
    if one.name.startswith("push"):
        return Offsets(_plus(pointer, -8), base)
    if one.name.startswith("pop") and one.operands != ["%rsp"] and not one.name.startswith("popcnt"):
        return Offsets(_plus(pointer, 8), None if one.operands == ["%rbp"] else base)
    if one.name.startswith("leave"):
        return Offsets(_plus(base, 8), None)
    if one.calls or not one.operands:
        return now
    written = one.written()
    if one.name.startswith("enter"):
        return NOT_KNOWN
    return Offsets(
        _moved(one, now) if "rsp" in written else pointer, _moved(one, now) if "rbp" in written else base
    )


def _moved(one: Instruction, now: Offsets) -> Optional[int]:
    """What is written to a register as an offset."""
    source, target = one.operands[0], one.operands[-1]
    before = {"%rsp": now.pointer, "%rbp": now.base}
    if len(one.operands) != 2 or target not in before:
        return None
    if one.name in ("sub", "subq", "add", "addq") and source.startswith("$"):
        number = int(source[1:], 0)
        number -= 1 << 64 if number >= 1 << 63 else 0
        return _plus(before[target], number if one.name.startswith("add") else -number)
    if one.name.startswith("lea"):
        place = memory(source)
        return now.of(place) if place is not None else None
    return before.get(source) if one.name in ("mov", "movq") else None


def _plus(number: Optional[int], by: int) -> Optional[int]:
    return None if number is None else number + by


def on_stack(one: Instruction, now: Offsets) -> "Iterator[int]":
    """Where the operands of an instruction are on the stack, from the stack pointer at the entry."""
    for place in () if one.name.startswith(("lea", "nop")) else filter(None, map(memory, one.operands)):
        found = now.of(place)
        if found is not None:
            yield found


def reach(code: Code, pads: "Iterable[int]" = ()) -> Optional[int]:
    """The highest offset of what a function uses above its return address; 0 is the first argument there."""
    found = [
        where - 8
        for at, now in offsets(code, pads).items()
        for where in on_stack(code.rows[at], now)
        if where >= 8
    ]
    return max(found, default=None)
