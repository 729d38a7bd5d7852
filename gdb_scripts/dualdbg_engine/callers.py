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
    number: int, entry: int, called_by: "dict[str, Any]", through: "dict[str, Any] | None"
) -> "dict[str, Any]":
    """What the call tells at whose entry a thread stands: ``call``, as a :class:`placing.Call`.

    ``called_by`` and ``through``: what is known of the function to which the stack leads back, and of one that it calls
    for certain, which passes the call on by a jump. ``call`` is None where the call is not surely one of the function
    at ``entry``: a function that is called by its address may have passed it on. ``goes_to`` is the function that is
    called for certain, if it is another one.

    Of each: ``parts``, where its code is; ``whole``: that is all of it, from its entry on; ``pads``: where exceptions
    land in it; ``given``: what it is given itself (a :class:`placing.Passing`). ``stubs`` and ``slots``: where stubs of
    the linker are in its library (``.plt``), and the addresses of functions that it fills in (``.got``).
    """
    helpers.load()
    nothing: dict[str, Any] = {"call": None, "goes_to": None}
    frame = find_frame(number, 0)
    if abi.architecture(frame.architecture().name()) != abi.X86_64 or frame.pc() != entry:
        return nothing
    returns_to = int.from_bytes(read(int(frame.read_register("rsp")) & WORD, 8), "little")
    caller = _caller(called_by["parts"], called_by["whole"])
    call = caller.before.get(returns_to)
    if call is None or not call.calls:
        return nothing
    targets = _targets(call, caller.texts[call.address], called_by)
    if entry in targets:
        return {"call": _evidence(caller, call, called_by, call.target == entry), "goes_to": None}
    if through is None:
        others = [one for one in targets if not _is_in(one, called_by["stubs"])]
        return {"call": None, "goes_to": others[0] if len(others) == 1 else None}
    between = _caller(through["parts"], through["whole"])
    jump = _only_way_on(between, entry, through) if through["parts"][0][0] in targets else None
    return nothing if jump is None else {"call": _evidence(between, jump, through, False), "goes_to": None}


def _evidence(
    caller: _Caller, site: att.Instruction, known: "dict[str, Any]", is_direct: bool
) -> "dict[str, Any]":
    """What the code of a function tells of the call, or of the jump that passes a call on, at ``site``.

    ``is_direct``: what the linker may replace nobody could know when the caller was compiled.
    """
    rows = caller.straight_before(site)
    found = call_site.filled(rows) if caller.was_optimised and not site.branches else ()
    used = (
        call_site.used_behind(caller.code, caller.code.after.get(site.address, 0), found)
        if is_direct
        else set()
    )
    given = caller_state.ALL
    if known["given"] is not None:
        given = placing.registers_of(placing.passing(known["given"]))
    may_be = caller_state.may_be_filled(
        caller.code,
        site.address,
        given,
        known["pads"],
        lambda one: _survivors(one, known["stubs"], _MOST_CALLS),
    )
    filled = tuple(name for name in found if name not in used)
    if site.jumps:  # what is on the stack may be what the function was given itself
        return placing.Call(filled, may_be.registers)._asdict()
    return placing.Call(filled, may_be.registers, may_be.words, caller_state.least_on_stack(rows))._asdict()


def _only_way_on(function: _Caller, entry: int, known: "dict[str, Any]") -> "att.Instruction | None":
    """The jump by which a function leads to ``entry``, if it leads to no other function, and by no other jump."""
    if not function.code.complete:
        return None
    ways = [one for one in function.code.rows.values() if one.jumps and one.target in function.code.outside]
    if len(ways) != 1 or entry not in _targets(ways[0], function.texts[ways[0].address], known):
        return None
    return ways[0]


def _survivors(call: att.Instruction, stubs: "list[list[int]]", depth: int) -> "frozenset[str]":
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


def _targets(way: att.Instruction, text: str, known: "dict[str, Any]") -> "set[int]":
    """Where a call or a jump goes for certain, and where the stub of the linker goes on to that it leads to."""
    stubs, slots = known["stubs"], known["slots"]
    if not way.operands:
        return set()
    if way.operands[0].startswith("*"):
        return _in_slot(text, slots)
    if way.target is None:
        return set()
    return {way.target, *(_behind_stub(way.target, slots) if _is_in(way.target, stubs) else ())}


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
