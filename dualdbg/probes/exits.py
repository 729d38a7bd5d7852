"""Where a function returns, and where a jump can be written that comes by there. Pure.

A way out that is not found, or has no room for a jump, costs the times of the calls that leave by it, and no more.
Bytes that may be data are not written to: code is what the function's own jumps lead to.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .placement import (
    JUMP,
    CannotPlace,
    Function,
    Placement,
    all_targets,
    branches_around,
    check_movable,
    check_page,
    follow,
    iced,
    is_through_got,
    piece_in,
    target_of,
)

_PADDING = ("NOP", "INT3")


@dataclass(frozen=True)
class Exits:
    """The ways out at which a return is noted, and why it is not at others."""

    placed: tuple[Placement, ...]
    left_out: tuple[str, ...]


def find(function: Function, taken: range, going_on: frozenset[int] = frozenset()) -> Exits:
    """All of a function. ``taken``: the bytes of the jump at its entry; ``going_on``: targets of jumps that are not
    known to be other functions.
    """
    search = _Search(function, [taken], going_on)
    stranger = search.who_jumps_in()
    if stranger is not None:  # it comes to a way out without a call: that of an earlier one may be there yet
        return Exits((), (f"code of another function, at {stranger:#x}, jumps into it",))
    left_out = []
    for body in search.bodies:
        for index, one in enumerate(body):
            try:
                if search.is_way_out(one):
                    search.place(body, index)
            except CannotPlace as error:
                left_out.append(str(error))
    return Exits(tuple(search.placed), tuple(dict.fromkeys(left_out)))


@dataclass
class _Search:
    function: Function
    taken: list[range]
    going_on: frozenset[int]
    placed: list[Placement] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pieces = [(self.function.start, self.function.code)]
        self._others = list(self.function.others)
        self._reached = follow([self.function.start, *self.function.pads], self._piece_at)
        self.has_table = any(map(_is_table, self._reached.values()))
        self.bodies = [body for piece in self.pieces for body in self._bodies(*piece)]
        self.targets = sorted({*all_targets(self.function), *self.function.pads})

    def _piece_at(self, target: int) -> tuple[int, bytes] | None:
        """The piece of its code at an address that it leads to: it is one of its own from then on."""
        found = next((other for other in self._others if _is_of(other, target)), None)
        if found is not None:
            self._others.remove(found)
            self.pieces.append(found)
        return piece_in(self.pieces, target)

    def who_jumps_in(self) -> int | None:
        """Where a neighbour has a jump or call to its middle; None where none has."""
        return next(
            (
                at
                for at, leads in branches_around(self.function)
                if self.function.start != leads and piece_in(self.pieces, leads) is not None
                if piece_in((*self.pieces, *self.function.others), at) is None
                if not self._catches(at)
            ),
            None,
        )

    def _catches(self, address: int) -> bool:
        """Whether code is in a part of it that is come to by exceptions alone."""
        bounds = next((one for one in self.function.functions if one[0] <= address < one[1]), (0, 0))
        return any(bounds[0] <= pad < bounds[1] for pad in self.function.pads)

    def _bodies(self, start: int, code: bytes) -> Iterator[list[Any]]:
        """The instructions of a piece, each run of them that follow one another.

        Between those that were come to there is padding; and where a jump through a table leads on, code, if it looks
        like code all along.
        """
        body: list[Any] = []
        at, end = start, start + len(code)
        for one in [*(self._reached[ip] for ip in sorted(self._reached) if start <= ip < end), None]:
            until = one.ip if one is not None else end
            if until < at:  # it lies in another one: which of them is meant depends on who comes there
                continue
            between = list(_decoded(at, code[at - start : until - start]))
            if between and not self._is_code(between):
                yield body
                body = []
            else:
                body += between
            if one is not None:
                body.append(one)
                at = one.ip + one.len
        yield body

    def _is_code(self, between: list[Any]) -> bool:
        if all(map(_is_padding, between)):
            return True
        own = {one.ip for one in between}
        leads = [target_of(one) for one in between if not one.is_call_near]
        return (
            self.has_table
            and not any(one.code == iced.Code.INVALID for one in between)
            and all(
                lead in own or lead in self._reached
                for lead in leads
                if lead is not None and self.function.start <= lead < self.function.end
            )
        )

    def is_way_out(self, one: Any) -> bool:
        """Whether the function is left here. Raises CannotPlace where that cannot be told, or depends."""
        flow = iced.FlowControl
        if one.flow_control == flow.RETURN:
            if one.mnemonic != iced.Mnemonic.RET:
                raise CannotPlace(f"it returns by {one} at {one.ip:#x}")
            return True
        if one.flow_control == flow.INDIRECT_BRANCH:
            return _leaves_by_memory(one)  # else it is a table of its own, or cannot be told from one
        leads = target_of(one)
        if leads is None or one.is_call_near or leads in self.going_on:
            return False
        is_left = leads == self.function.start or not any(
            start <= leads < start + len(code) for start, code in self.pieces
        )
        if is_left and one.flow_control == flow.CONDITIONAL_BRANCH:
            if leads == self.function.start:
                return False
            raise CannotPlace(f"a conditional jump at {one.ip:#x} leaves it")
        return is_left

    def place(self, body: list[Any], index: int) -> None:
        """Find room for a jump: the instruction, padding behind it, instructions before it."""
        last = body[index]
        end = last.ip + last.len
        room = self._padding(body, index)
        for first in range(index, -1, -1):
            if first < index:
                if body[first].flow_control != iced.FlowControl.NEXT:
                    break
                check_movable(body[first])
            site = body[first].ip
            if end + room - site < JUMP:
                continue
            self._check(range(site, max(end, site + JUMP)), first < index)
            size = max(end, site + JUMP) - site
            original = self._bytes(site, size)
            self.taken.append(range(site, site + size))
            self.placed.append(Placement(site, tuple(body[first : index + 1]), original, None, True))
            return
        raise CannotPlace(f"the way out at {last.ip:#x} has no room for a jump")

    def _check(self, patched: range, has_inner: bool) -> None:
        at = f"the way out at {patched.stop - 1:#x}"
        check_page(patched.start, len(patched))
        if any(one.start < patched.stop and patched.start < one.stop for one in self.taken):
            raise CannotPlace(f"{at} is where another jump is")
        inner = bisect_left(self.targets, patched.start + 1)
        if inner < len(self.targets) and self.targets[inner] in patched:
            raise CannotPlace(f"{at} may be jumped to")
        if has_inner and self.has_table:
            raise CannotPlace(f"a jump through a table may lead to {at}")

    def _padding(self, body: list[Any], index: int) -> int:
        """How many bytes behind an instruction are never run."""
        end = body[index].ip + body[index].len
        behind = index + 1
        while behind < len(body) and _is_padding(body[behind]):
            behind += 1
        if behind < len(body):
            return int(body[behind].ip - end)
        behind_all = int(body[-1].ip + body[-1].len)
        return behind_all - int(end) + self._between(behind_all)

    def _between(self, end: int) -> int:
        """How many bytes there are to the next function, if nothing is there."""
        start, code = self.function.around
        starts = [first for first, _ in self.function.functions]
        behind = bisect_left(starts, end)
        if behind == len(starts) or not start <= end <= starts[behind] <= start + len(code):
            return 0
        gap = code[end - start : starts[behind] - start]
        return len(gap) if all(map(_is_padding, _decoded(end, gap))) else 0

    def _bytes(self, site: int, size: int) -> bytes:
        for start, code in self.pieces:
            if start <= site and site + size <= start + len(code):
                return code[site - start : site - start + size]
        start, code = self.function.around
        return code[site - start : site - start + size]


def _is_of(piece: tuple[int, bytes], target: int) -> bool:
    """Whether a jump goes on in this piece of code, and not by a stub in it to another library."""
    start, code = piece
    if not start <= target < start + len(code):
        return False
    first = next(
        (one for one in _decoded(target, code[target - start :]) if one.code != iced.Code.ENDBR64), None
    )
    return (
        first is None or not is_through_got(first) or first.flow_control != iced.FlowControl.INDIRECT_BRANCH
    )


def _decoded(start: int, code: bytes) -> Iterator[Any]:
    yield from iced.Decoder(64, code, ip=start)


def _is_padding(one: Any) -> bool:
    return one.mnemonic in {getattr(iced.Mnemonic, name) for name in _PADDING}


def _is_table(one: Any) -> bool:
    """Whether it is a jump through a table, or may be one."""
    return one.flow_control == iced.FlowControl.INDIRECT_BRANCH and not _leaves_by_memory(one)


def _leaves_by_memory(one: Any) -> bool:
    """Whether an indirect jump goes to what one place in memory says: a table of its own has an index."""
    if one.op0_kind != iced.OpKind.MEMORY:
        return False
    return is_through_got(one) or (
        one.memory_index == iced.Register.NONE and one.memory_base != iced.Register.NONE
    )
