"""What the call that has just led to a function tells of its arguments, where it surely was a call of this function."""

from __future__ import annotations

import re
from typing import Any

import gdb
from dualdbg_helpers import abi, att, call_site, caller_state, entry_code, placing

from . import helpers
from .memory import read
from .passed import disassembled
from .threads import WORD, find_frame

_RESOLVED = re.compile(r"#\s*(0x[0-9a-f]+)")
_PLT = 32  # bytes
_MOST_CALLERS = 16
_MOST_BEFORE = 100  # instructions
_BEGINNING = 256  # bytes of a function
_MOST_CALLS = 3  # of functions that functions call


class _Caller:
    """The code of a function that calls.

    ``was_optimised``: for certain. What was not leaves in registers what it needs no more.
    """

    def __init__(self, parts: "list[list[int]]", whole: bool) -> None:
        rows = disassembled(parts) or [[]]
        self.code = entry_code.code_of(rows, whole)
        # Code that is not optimised has a frame pointer, sets it up first of all, and is in one piece.
        self.was_optimised = not entry_code.sets_frame_first(self.code) or (whole and len(parts) > 1)
        self.texts = {at: text for part in rows for at, text in part}
        self.before = {
            behind: self.code.rows[at]
            for part, (_, end) in zip(rows, parts)
            for at, behind in zip([at for at, _ in part], [*(at for at, _ in part[1:]), end])
        }

    def straight_before(self, one: att.Instruction) -> "list[att.Instruction]":
        """The instructions in front of one to which no jump leads but to the first."""
        found: list[att.Instruction] = []
        targets = self.code.jumped_to
        at = one.address
        while at in self.before and at not in targets and len(found) < _MOST_BEFORE:
            at = self.before[at].address
            found.insert(0, self.code.rows[at])
        return found


_callers: "dict[tuple[bytes, ...], _Caller]" = {}


def _caller(parts: "list[list[int]]", whole: bool) -> _Caller:
    """The code there, read once as long as it is the same."""
    key = (repr((parts, whole)).encode(), *(read(start, end - start) for start, end in parts))
    if key not in _callers:
        if len(_callers) >= _MOST_CALLERS:
            _callers.clear()
        _callers[key] = _Caller(parts, whole)
    return _callers[key]


def call_evidence(
    number: int,
    entry: int,
    parts: "list[list[int]]",
    whole: bool,
    pads: "list[int]",
    of_caller: "dict[str, Any] | None",
    stubs: "list[list[int]]",
    slots: "list[list[int]]",
) -> "dict[str, Any] | None":
    """What the call tells at whose entry a thread stands, as a :class:`placing.Call`.

    ``parts``: where the code of the caller is, ``whole``: all of it, from its entry on; ``pads``: where exceptions land
    in it; ``of_caller``: what it is given itself (a :class:`placing.Passing`). ``stubs`` and ``slots``: where stubs of
    the linker are there (``.plt``), and the addresses of functions that it fills in (``.got``). None where the call is
    not surely one of the function at ``entry``: a function that is called by its address may have passed it on by a
    jump.
    """
    helpers.load()
    frame = find_frame(number, 0)
    if abi.architecture(frame.architecture().name()) != abi.X86_64 or frame.pc() != entry:
        return None
    returns_to = int.from_bytes(read(int(frame.read_register("rsp")) & WORD, 8), "little")
    caller = _caller(parts, whole)
    call = caller.before.get(returns_to)
    if (
        call is None
        or not call.calls
        or entry not in _targets(call, caller.texts[call.address], stubs, slots)
    ):
        return None
    rows = caller.straight_before(call)
    found = call_site.filled(rows) if caller.was_optimised else ()
    # What the linker may replace nobody could know when the caller was compiled.
    is_direct = call.target == entry
    used = call_site.used_behind(caller.code, returns_to, found) if is_direct else set()
    given = placing.registers_of(placing.passing(of_caller)) if of_caller is not None else caller_state.ALL
    may_be = caller_state.may_be_filled(
        caller.code, call.address, given, pads, lambda one: _survivors(one, caller, stubs, _MOST_CALLS)
    )
    return placing.Call(
        tuple(name for name in found if name not in used),
        may_be.registers,
        may_be.words,
        caller_state.least_on_stack(rows),
    )._asdict()


def _survivors(
    call: att.Instruction, caller: _Caller, stubs: "list[list[int]]", depth: int
) -> "frozenset[str]":
    """The registers for arguments that a function may leave as they are, and its caller may know it.

    GCC looks into functions that are called directly (``-fipa-ra``). A variable of a thread may be found by a call that
    leaves all as they are (``*(%rax)``).
    """
    if call.target is None:
        return caller_state.ALL if call.operands == ["*(%rax)"] else frozenset()
    return frozenset() if _is_in(call.target, stubs) else _left_alone(call.target, stubs, depth)


def _left_alone(function: int, stubs: "list[list[int]]", depth: int) -> "frozenset[str]":
    """The registers for arguments to which the first way through a function does not write."""
    left = caller_state.ALL
    try:
        rows = (disassembled([[function, function + _BEGINNING]]) or [[]])[0]
    except gdb.MemoryError:
        return left
    for address, text in rows:
        one = att.parsed(address, text)
        if one.returns or one.name in ("jmp", "jmpq", "ud2", "hlt") or "(bad)" in text:
            break
        if one.calls and one.target is None and one.operands != ["*(%rax)"]:
            return frozenset()
        if one.calls and one.target is not None and _is_in(one.target, stubs):
            return frozenset()
        if one.calls and one.target is not None and depth:
            left &= _left_alone(one.target, stubs, depth - 1)
        elif not one.name.startswith("pop"):
            left -= call_site.written(one)
    return left


def _targets(
    call: att.Instruction, text: str, stubs: "list[list[int]]", slots: "list[list[int]]"
) -> "set[int]":
    """Where a call goes for certain, and where the stub of the linker goes on to that it calls."""
    if not call.operands:
        return set()
    if call.operands[0].startswith("*"):
        return _in_slot(text, slots)
    if call.target is None:
        return set()
    return {call.target, *(_behind_stub(call.target, slots) if _is_in(call.target, stubs) else ())}


def _is_in(address: int, parts: "list[list[int]]") -> bool:
    return any(start <= address < end for start, end in parts)


def _in_slot(text: str, slots: "list[list[int]]") -> "set[int]":
    """What the linker has filled in, where an instruction reads it."""
    resolved = _RESOLVED.search(text)
    place = int(resolved.group(1), 16) if resolved is not None else 0
    if "(%rip)" not in text or not _is_in(place, slots):
        return set()
    return {int.from_bytes(read(place, 8), "little")}


def _behind_stub(address: int, slots: "list[list[int]]") -> "set[int]":
    rows = (disassembled([[address, address + _PLT]]) or [[]])[0]
    for _, text in rows[:2]:
        if re.search(r"\bjmpq?\s+\*", text):
            return _in_slot(text, slots)
        if "endbr64" not in text:
            return set()
    return set()
