"""Where a jump can take the place of a function's instructions, and which of them move. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

try:
    import iced_x86 as iced
except ImportError:  # it has no wheel for this system
    iced = None

JUMP = 5  # bytes of `jmp rel32`
MISSING = "the package iced-x86 is not installed: pip install iced-x86"


class CannotPlace(Exception):
    """No jump is placed there; the text says why."""


@dataclass(frozen=True)
class Function:
    """The bytes of a function, and of a seldom run part of it (``.cold``) that may jump back into it."""

    start: int
    code: bytes
    cold: tuple[tuple[int, bytes], ...] = ()

    @property
    def end(self) -> int:
        """The address behind its last byte."""
        return self.start + len(self.code)


@dataclass(frozen=True)
class Placement:
    """``site`` is where the jump is written, ``moved`` the instructions that it takes the place of.

    ``frame``: how far rbp is above rsp at the site, where that is certain.
    """

    site: int
    moved: tuple[Any, ...]
    original: bytes
    frame: int | None

    @property
    def end(self) -> int:
        """Where the program goes on after the moved instructions."""
        return self.site + len(self.original)


def place(address: int, function: Function) -> Placement:
    """The place of a jump for a breakpoint at ``address``. Raises CannotPlace."""
    if iced is None:
        raise CannotPlace(MISSING)
    body = list(iced.Decoder(64, function.code, ip=function.start))
    if any(one.code == iced.Code.INVALID for one in body):
        raise CannotPlace("its instructions are not all understood")
    index = next((at for at, one in enumerate(body) if one.ip == address), None)
    if index is None:
        raise CannotPlace("it is not at the beginning of an instruction of its function")
    if body[index].code == iced.Code.ENDBR64:  # an indirect call has to land on it
        index += 1
    moved, size = [], 0
    for one in body[index:]:
        if size >= JUMP:
            break
        _check_movable(one)
        moved.append(one)
        size += one.len
    if size < JUMP:
        raise CannotPlace("the function is shorter than the jump")
    site = moved[0].ip
    inner = {one.ip for one in moved[1:]}
    _check_targets(body, function, range(site + 1, site + size), bool(inner))
    offset = site - function.start
    return Placement(site, tuple(moved), function.code[offset : offset + size], _frame(body[:index]))


def _check_movable(one: Any) -> None:
    flow = iced.FlowControl
    if one.flow_control == flow.RETURN:
        raise CannotPlace("it may return before the jump ends: it is shorter than the jump")
    if one.flow_control not in (flow.NEXT, flow.UNCONDITIONAL_BRANCH, flow.CONDITIONAL_BRANCH):
        raise CannotPlace(f"its first instructions cannot be moved: {one}")
    if (
        one.is_jcx_short
        or one.is_loop
        or one.is_loopcc
        or one.mnemonic in (iced.Mnemonic.XBEGIN, iced.Mnemonic.SYSCALL)
    ):
        raise CannotPlace(f"its first instructions cannot be moved: {one}")


def _check_targets(body: list[Any], function: Function, within: range, has_inner: bool) -> None:
    """Raises CannotPlace where something may jump into the bytes behind the first of the jump."""
    parts = [body, *(iced.Decoder(64, code, ip=start) for start, code in function.cold)]
    for part in parts:
        for one in part:
            if (
                one.is_jcc_short_or_near
                or one.is_jmp_short_or_near
                or one.is_loop
                or one.is_loopcc
                or one.is_jcx_short
                or one.is_call_near
            ):
                if one.near_branch_target in within:
                    raise CannotPlace(f"a branch at {one.ip:#x} leads into its first bytes")
            elif (
                has_inner
                and one.flow_control == iced.FlowControl.INDIRECT_BRANCH
                and not _is_through_got(one)
            ):
                raise CannotPlace("a jump through a table may lead into its first bytes")


def _is_through_got(one: Any) -> bool:
    """Whether it jumps to what one fixed place in memory says, as a call of another library at the end does."""
    return bool(one.op0_kind == iced.OpKind.MEMORY and one.memory_base == iced.Register.RIP)


def _frame(before: list[Any]) -> int | None:
    """How far rbp is above rsp behind these instructions, the first of a function; None where it is not known."""
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
        elif one.op0_register in (
            iced.Register.RSP,
            iced.Register.RBP,
            iced.Register.EBP,
            iced.Register.ESP,
        ) or one.mnemonic in (iced.Mnemonic.POP, iced.Mnemonic.LEAVE, iced.Mnemonic.ENTER):
            return None
    return above
