"""Where a jump can take the place of a function's instructions, and which of them move. Pure."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

JUMP = 5  # bytes of `jmp rel32`
MISSING = "the package iced-x86 is not installed: pip install 'dualdbg[fast]'"
_PAGE = 4096
_FAR, _SHORT = 1 << 16, 130  # bytes: how far the branches below may lead
# Direct jumps of four bytes, which may come from afar: what they look like, and how long they are.
_BRANCHES = (
    (re.compile(rb"(?s)(?=[\xe8\xe9](....))"), 5),
    (re.compile(rb"(?s)(?=\x0f[\x80-\x8f](....))"), 6),
)
# The same that lead less than 64 KB away, and those of one byte: what is behind a match is looked at again.
_NEAR = (
    (re.compile(rb"(?s)[\xe8\xe9](?=(..(?:\x00\x00|\xff\xff)))"), 5),
    (re.compile(rb"(?s)\x0f(?=[\x80-\x8f](..(?:\x00\x00|\xff\xff)))"), 6),
)
_NEAREST = re.compile(rb"(?s)[\x70-\x7f\xe0-\xe3\xeb](?=(.))")


class CannotPlace(Exception):
    """No jump is placed there; the text says why."""


class _Iced:
    """The package iced_x86, loaded when something of it is wanted: most sessions want nothing."""

    def __getattr__(self, name: str) -> Any:
        try:
            found = getattr(importlib.import_module("iced_x86"), name)
        except ImportError as error:
            raise CannotPlace(MISSING) from error
        setattr(self, name, found)
        return found


# It has no wheel for some systems.
iced: Any = _Iced() if importlib.util.find_spec("iced_x86") is not None else None


def piece_in(pieces: Iterable[tuple[int, bytes]], address: int) -> tuple[int, bytes] | None:
    """The one of several pieces of code, each with its address, that an address is in."""
    return next((one for one in pieces if one[0] <= address < one[0] + len(one[1])), None)


@dataclass(frozen=True)
class Function:
    """The bytes of a function, and what else may lead into it.

    ``others``: code that may jump back into it, each piece with its address: the seldom run part (``.cold``), what it
    jumps to. ``around``: the code before and behind it, with the address of the first byte; a label in the middle of a
    function written in assembler may be jumped to from its neighbours. ``functions``: where functions begin
    and end there, in order. ``pads``: where its exceptions land. ``is_described``: there is unwind info for it, as for
    what compilers make; else nothing but a name says that this is code.
    """

    start: int
    code: bytes
    others: tuple[tuple[int, bytes], ...] = ()
    around: tuple[int, bytes] = (0, b"")
    functions: tuple[tuple[int, int], ...] = ()
    pads: tuple[int, ...] = ()
    is_described: bool = True

    @property
    def end(self) -> int:
        """The address behind its last byte."""
        return self.start + len(self.code)

    def piece_at(self, address: int) -> tuple[int, bytes] | None:
        """The part of its code that an address is in."""
        return piece_in(((self.start, self.code), *self.others), address)


@dataclass(frozen=True)
class Placement:
    """``site`` is where the jump is written, ``moved`` the instructions that it takes the place of.

    ``frame``: how far rbp is above rsp at the site, where that is certain. ``is_exit``: the last of the instructions
    leaves the function; ``original`` may have padding behind it then. ``is_looped``: the function jumps back to it, so
    that it may be come to several times in a call.
    """

    site: int
    moved: tuple[Any, ...]
    original: bytes
    frame: int | None
    is_exit: bool = False
    is_looped: bool = False

    @property
    def end(self) -> int:
        """Where the program goes on after the moved instructions."""
        return self.site + len(self.original)

    @property
    def head(self) -> int:
        """The instruction before which the probe does its work."""
        return int(self.moved[-1].ip) if self.is_exit else self.site


def ways_out(function: Function) -> set[int]:
    """Where its direct jumps lead that leave it."""
    targets = {
        target_of(one)
        for one in iced.Decoder(64, function.code, ip=function.start)
        if one.flow_control != iced.FlowControl.NEXT and not one.is_call_near
    }
    return {
        target for target in targets if target is not None and not function.start <= target < function.end
    }


def begins_with_pad(function: Function, site: int) -> bool:
    """Whether nothing is before the site in its function but the landing pad of indirect calls."""
    first = next(iter(iced.Decoder(64, function.code, ip=function.start)))
    return bool(first.code == iced.Code.ENDBR64 and site == function.start + first.len)


def place(address: int, function: Function) -> Placement:
    """The place of a jump for a breakpoint at ``address``. Raises CannotPlace."""
    if iced is None:
        raise CannotPlace(MISSING)
    body = list(iced.Decoder(64, function.code, ip=function.start))
    if any(one.code == iced.Code.INVALID for one in body):
        raise CannotPlace("its instructions are not all understood")
    _check_is_code(function)
    index = next((at for at, one in enumerate(body) if one.ip == address), None)
    if index is None:
        raise CannotPlace("it is not at the beginning of an instruction of its function")
    if body[index].code == iced.Code.ENDBR64:  # an indirect call has to land on it
        index += 1
    moved: list[Any] = []
    size = 0
    for one in body[index:]:
        if size >= JUMP:
            break
        if moved and moved[-1].flow_control == iced.FlowControl.UNCONDITIONAL_BRANCH:
            break  # what is behind it is come to from elsewhere
        check_movable(one)
        moved.append(one)
        size += one.len
    if size < JUMP:
        raise CannotPlace("the function is shorter than the jump")
    site = moved[0].ip
    check_page(site, size)
    # Who comes to the site itself, and not by the landing pad before it, is no hit of a breakpoint there.
    forbidden = range(site + (site == address), site + size)
    _check_ways_in(body, function, forbidden, {one.ip for one in moved[1:]})
    offset = site - function.start
    parts = [body, *(iced.Decoder(64, code, ip=start) for start, code in function.others)]
    is_looped = any(target_of(one) == site and not one.is_call_near for part in parts for one in part)
    original = function.code[offset : offset + size]
    return Placement(site, tuple(moved), original, _frame(body[:index]), is_looped=is_looped)


def check_page(site: int, size: int) -> None:
    """Raises CannotPlace where the bytes cannot be written at once."""
    if site // _PAGE != (site + size - 1) // _PAGE:
        raise CannotPlace("its first bytes lie in two pages: they cannot be written at once")


def check_movable(one: Any) -> None:
    """Raises CannotPlace where an instruction does not do the same elsewhere."""
    flow = iced.FlowControl
    if one.flow_control == flow.RETURN:
        raise CannotPlace("it may return before the jump ends: it is shorter than the jump")
    plain = one.flow_control in (flow.NEXT, flow.UNCONDITIONAL_BRANCH, flow.CONDITIONAL_BRANCH)
    short = one.is_jcx_short or one.is_loop or one.is_loopcc  # they have no longer form
    if not plain or short or one.mnemonic in (iced.Mnemonic.XBEGIN, iced.Mnemonic.SYSCALL):
        raise CannotPlace(f"its first instructions cannot be moved: {one}")


def _check_ways_in(body: list[Any], function: Function, forbidden: range, inner: set[int]) -> None:
    """Raises CannotPlace where the program may come to bytes of the jump that are not its first."""
    indirect = iced.FlowControl.INDIRECT_BRANCH
    parts: list[Iterable[Any]] = [
        body,
        *(iced.Decoder(64, code, ip=start) for start, code in function.others),
        _between(body, function),
    ]
    for part in parts:
        for one in part:
            if target_of(one) in forbidden:
                raise CannotPlace(f"a branch at {one.ip:#x} leads into its first bytes")
            if inner and one.flow_control == indirect and not is_through_got(one):
                raise CannotPlace("a jump through a table may lead into its first bytes")
    if any(pad in forbidden for pad in function.pads):
        raise CannotPlace("exceptions land in its first bytes")
    _check_around(function, forbidden)


def _between(body: list[Any], function: Function) -> Iterable[Any]:
    """What decoding the body from its beginning misses: data may swallow the first bytes of the next instruction."""
    starts = {one.ip for one in body}
    leads = [target for one in body if (target := target_of(one)) is not None]
    if all(
        target in starts for target in (*leads, *function.pads) if function.start <= target < function.end
    ):
        return ()  # then nothing leads to another place
    return follow(
        [function.start, *function.pads, *(start for start, _ in function.others)], function.piece_at
    ).values()


def follow(waiting: list[int], piece_at: Callable[[int], tuple[int, bytes] | None]) -> dict[int, Any]:
    """The instructions to which code from these addresses on leads by itself and by its direct jumps, by address.

    ``piece_at`` gives the code at an address, with where that begins; what is in none is not followed.
    """
    reached: dict[int, Any] = {}
    while waiting:
        target = waiting.pop()
        piece = piece_at(target)
        if piece is None:
            continue
        start, code = piece
        for one in iced.Decoder(64, code[target - start :], ip=target):
            if one.ip in reached or one.code == iced.Code.INVALID:
                break
            reached[one.ip] = one
            leads = target_of(one)
            if leads is not None and not one.is_call_near:
                waiting.append(leads)
            if one.flow_control in _ends_of_flow():
                break
    return reached


def _ends_of_flow() -> tuple[Any, ...]:
    flow = iced.FlowControl
    return flow.UNCONDITIONAL_BRANCH, flow.INDIRECT_BRANCH, flow.RETURN, flow.EXCEPTION


def _check_is_code(function: Function) -> None:
    """Raises CannotPlace where the bytes of a function may be a table: code comes to an end before they do."""
    if function.is_described:
        return
    flow = iced.FlowControl
    calls = (flow.CALL, flow.INDIRECT_CALL, flow.INTERRUPT, *_ends_of_flow())  # a call may not return
    for one in follow([function.start], function.piece_at).values():
        ends = one.flow_control in calls or one.mnemonic == iced.Mnemonic.HLT
        if one.ip + one.len >= function.end and not ends:
            raise CannotPlace("it does not end as code does: it may be data")


def target_of(one: Any) -> int | None:
    """Where a direct jump or call leads; None for another instruction."""
    if one.flow_control == iced.FlowControl.NEXT:  # most are asked no more than this
        return None
    direct = one.is_jcc_short_or_near or one.is_jmp_short_or_near or one.is_call_near
    if direct or one.is_loop or one.is_loopcc or one.is_jcx_short:
        return int(one.near_branch_target)
    return None


def _check_around(function: Function, forbidden: range) -> None:
    """The same for its neighbours. Between those that are known there may be data among the instructions."""
    start, code = function.around
    if not _may_lead_into(start, code, function, forbidden):
        return
    unknown = start
    for first, end in (*function.functions, (start + len(code), start + len(code))):
        _check_piece(unknown, code[unknown - start : first - start], function, forbidden, is_known=False)
        _check_piece(first, code[first - start : end - start], function, forbidden, is_known=True)
        unknown = max(unknown, end)


def _may_lead_into(start: int, code: bytes, function: Function, forbidden: range) -> bool:
    """Whether any bytes, wherever instructions begin, are a branch into these: to decode all of them takes long."""
    if len(code) > _FAR:
        return True
    places = [
        (start + one.start(), size, one[1]) for pattern, size in _NEAR for one in pattern.finditer(code)
    ]
    first = max(forbidden.start - start - _SHORT, 0)
    nearest = _NEAREST.finditer(code, first, max(forbidden.stop - start + _SHORT, 0))
    places += [(start + one.start(), 2, one[1]) for one in nearest]
    return any(
        at + size + int.from_bytes(leads, "little", signed=True) in forbidden
        and not function.start <= at < function.end
        for at, size, leads in places
    )


def _check_piece(start: int, code: bytes, function: Function, forbidden: range, is_known: bool) -> None:
    """One after the other; where that may not be where they begin, each byte may be the first of a jump."""
    is_understood, branches = _branches(start, code)
    for at, leads in branches:
        if leads in forbidden and not function.start <= at < function.end:
            raise CannotPlace(f"a branch at {at:#x} leads into its first bytes")
    for at, leads in () if is_known and is_understood else _perhaps(start, code):
        if leads in forbidden and not function.start <= at < function.end:
            raise CannotPlace(f"what may be a branch at {at:#x} leads into its first bytes")


def _perhaps(start: int, code: bytes) -> Iterator[tuple[int, int]]:
    """What may be a branch, whichever byte it begins at, with where it leads."""
    for pattern, size in _BRANCHES:
        for match in pattern.finditer(code):
            at = start + match.start()
            yield at, at + size + int.from_bytes(match[1], "little", signed=True)


def all_targets(function: Function) -> set[int]:
    """Where direct branches lead, or what may be some, of a function and of its neighbours."""
    found = {
        leads
        for start, code in ((function.start, function.code), *function.others)
        for _, leads in _branches(start, code)[1]
    }
    start, code = function.around
    unknown = start
    for first, end in (*function.functions, (start + len(code), start + len(code))):
        gap, known = code[unknown - start : first - start], code[first - start : end - start]
        is_understood, branches = _branches(first, known)
        pieces = [branches, _branches(unknown, gap)[1], _perhaps(unknown, gap)]
        pieces += [] if is_understood else [_perhaps(first, known)]
        found.update(leads for piece in pieces for _, leads in piece)
        unknown = max(unknown, end)
    return found


def branches_around(function: Function) -> Iterator[tuple[int, int]]:
    """Where its neighbours have direct branches, with where they lead. Data among them may look like some."""
    start, code = function.around
    unknown = start
    for first, end in (*function.functions, (start + len(code), start + len(code))):
        for at, until in ((unknown, first), (first, end)):
            yield from _branches(at, code[at - start : until - start])[1] if at < until else ()
        unknown = max(unknown, end)


@lru_cache(maxsize=1 << 14)  # neighbours have the same neighbours
def _branches(start: int, code: bytes) -> tuple[bool, tuple[tuple[int, int], ...]]:
    """Whether all instructions are understood; each direct branch among them, with where it leads."""
    is_understood = True
    found = []
    for one in iced.Decoder(64, code, ip=start):
        is_understood = is_understood and one.code != iced.Code.INVALID
        leads = target_of(one)
        if leads is not None:
            found.append((one.ip, leads))
    return is_understood, tuple(found)


def is_through_got(one: Any) -> bool:
    """Whether it jumps to what one fixed place in memory says, as a call of another library at the end does."""
    return bool(one.op0_kind == iced.OpKind.MEMORY and one.memory_base == iced.Register.RIP)


def _frame(before: list[Any]) -> int | None:
    """How far rbp is above rsp behind these instructions, the first of a function; None where it is not known."""
    stack = (iced.Register.RSP, iced.Register.RBP, iced.Register.EBP, iced.Register.ESP)
    movers = (iced.Mnemonic.POP, iced.Mnemonic.LEAVE, iced.Mnemonic.ENTER)
    above: int | None = None
    for one in before:
        if one.flow_control != iced.FlowControl.NEXT:
            return None
        if one.mnemonic == iced.Mnemonic.PUSH:
            above = above + 8 if above is not None else None
        elif one.mnemonic == iced.Mnemonic.MOV and str(one) == "mov rbp,rsp":
            above = 0
        elif one.mnemonic == iced.Mnemonic.SUB and one.op0_register == iced.Register.RSP:
            if one.op1_kind not in (iced.OpKind.IMMEDIATE8TO64, iced.OpKind.IMMEDIATE32TO64):
                return None
            above = above + one.immediate(1) if above is not None else None
        elif one.op0_register in stack or one.mnemonic in movers:
            return None
    return above
