"""What the call that has just led to a function tells of its arguments, where it surely was a call of this function."""

from __future__ import annotations

import re
from typing import Any, Sequence

import gdb
from dualdbg_helpers import abi, att, call_site, caller_state, entry_code, frame_offsets, placing
from dualdbg_shared.requests.arguments import CallerCode, CallEvidence, ReadCallEvidence

from . import helpers
from .memory import read
from .passed import disassembled
from .registry import answers
from .threads import WORD, find_frame

_RESOLVED = re.compile(r"#\s*(0x[0-9a-f]+)")
_PLT = 32  # bytes
_MOST_CALLERS = 16
_MOST_BEFORE = 100  # instructions
_BEGINNING = 256  # bytes of a function
_FILLING = ("nop", "xchg", "endbr", "int3", "(bad)")
_MOST_BEHIND = 400  # instructions of a function that is called before, and of those that it calls


class _Caller:
    """The code of a function that calls.

    ``was_optimised``: for certain. What was not leaves in registers what it needs no more.
    """

    def __init__(self, parts: "Sequence[tuple[int, int]]", whole: bool) -> None:
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


def _caller(parts: "Sequence[tuple[int, int]]", whole: bool) -> _Caller:
    """The code there, read once as long as it is the same."""
    key = (repr((parts, whole)).encode(), *(read(start, end - start) for start, end in parts))
    if key not in _callers:
        if len(_callers) >= _MOST_CALLERS:
            _callers.clear()
        _callers[key] = _Caller(parts, whole)
    return _callers[key]


@answers(ReadCallEvidence)
def call_evidence(
    gdb_thread: int, entry: int, called_by: CallerCode, through: "CallerCode | None" = None
) -> CallEvidence:
    """What the call tells at whose entry a thread stands: ``call``, as a :class:`placing.Call`.

    ``called_by`` and ``through``: what is known of the function to which the stack leads back, and of one that it calls
    for certain, which passes the call on by a jump. ``call`` is None where the call is not surely one of the function
    at ``entry``: a function that is called by its address may have passed it on. ``goes_to`` is the function that is
    called for certain, if it is another one.
    """
    helpers.load()
    nothing = CallEvidence(None, None)
    frame = find_frame(gdb_thread, 0)
    if abi.architecture(frame.architecture().name()) != abi.X86_64 or frame.pc() != entry:
        return nothing
    returns_to = int.from_bytes(read(int(frame.read_register("rsp")) & WORD, 8), "little")
    caller = _caller(called_by.parts, called_by.whole)
    call = caller.before.get(returns_to)
    if call is None or not call.calls:
        return nothing
    targets = _targets(call, caller.texts[call.address], called_by)
    if entry in targets:
        return CallEvidence(_evidence(caller, call, called_by, call.target == entry), None)
    if through is None:
        others = [one for one in targets if not _is_in(one, called_by.stubs)]
        return CallEvidence(None, others[0] if len(others) == 1 else None)
    between = _caller(through.parts, through.whole)
    jump = _only_way_on(between, entry, through) if through.parts[0][0] in targets else None
    return nothing if jump is None else CallEvidence(_evidence(between, jump, through, False), None)


def _evidence(caller: _Caller, site: att.Instruction, known: CallerCode, is_direct: bool) -> "dict[str, Any]":
    """What the code of a function tells of the call, or of the jump that passes a call on, at ``site``.

    ``is_direct``: what the linker may replace nobody could know when the caller was compiled.
    """
    rows = caller.straight_before(site)
    found: tuple[str, ...] = ()
    if caller.was_optimised and not site.branches:
        fixed = [*known.slots, *known.constants]
        found = call_site.filled(rows, [_is_in(_read_at(caller.texts[one.address]), fixed) for one in rows])
    used: set[str] = set()
    if is_direct and site.target is not None:
        left, _ = _left_alone(site.target, known.stubs)
        used = call_site.used_behind(caller.code, caller.code.after.get(site.address, 0), found) & left
    given = caller_state.ALL
    what = placing.passing(known.given._asdict()) if known.given is not None else None
    if what is not None:
        given = placing.registers_of(what)
    effects: dict[int, tuple[frozenset[str], frozenset[str]]] = {}  # each call is come to more than once

    def effect(one: att.Instruction) -> "tuple[frozenset[str], frozenset[str]]":
        if one.address not in effects:
            effects[one.address] = _effect(one, known)
        return effects[one.address]

    may_be = caller_state.may_be_filled(caller.code, site.address, given, known.pads, effect)
    filled = tuple(name for name in found if name not in used)
    numbers = {
        name: number for name, number in call_site.numbers(rows, filled).items() if not _is_there(number)
    }
    call = placing.Call(filled, may_be.registers, numbers=numbers)
    if site.jumps:  # a jump in place of a call: what is on the stack was passed to the function that jumps
        most = placing.most_on_stack(what) if what is not None else None
        is_back = frame_offsets.offsets(caller.code, known.pads).get(site.address)
        return call._replace(most=most if is_back is not None and is_back.pointer == 0 else None)._asdict()
    least = caller_state.least_on_stack(rows)
    return call._replace(words=may_be.words, least=least, taken=may_be.taken)._asdict()


def _is_there(address: int) -> bool:
    """Whether there is something in memory."""
    try:
        read(address, 1)
    except gdb.MemoryError:
        return False
    return True


def _only_way_on(function: _Caller, entry: int, known: CallerCode) -> "att.Instruction | None":
    """The jump by which a function leads to ``entry``, if it leads to no other function, and by no other jump."""
    if not function.code.complete:
        return None
    ways = [one for one in function.code.rows.values() if one.jumps and one.target in function.code.outside]
    if len(ways) != 1 or entry not in _targets(ways[0], function.texts[ways[0].address], known):
        return None
    return ways[0]


def _effect(call: att.Instruction, known: CallerCode) -> "tuple[frozenset[str], frozenset[str]]":
    """The registers for arguments that a function may leave as they are, and its caller may know it; and those in which
    it may return something.

    GCC looks into functions that are called directly (``-fipa-ra``), not into those behind a stub of the linker. A
    variable of a thread may be found by a call that leaves all as they are (``*(%rax)``).
    """
    nothing: frozenset[str] = frozenset()
    if call.target is None:
        return caller_state.ALL if call.operands == ["*(%rax)"] else nothing, caller_state.RESULTS
    is_stub = _is_in(call.target, known.stubs)
    functions = _behind_stub(call.target, known.slots) if is_stub else {call.target}
    left, untouched = _left_alone(functions.pop(), known.stubs) if functions else (nothing, nothing)
    # What it returns may be what it has been given.
    return left & caller_state.RESULTS if is_stub else left, caller_state.RESULTS - untouched


def _left_alone(function: int, stubs: "Sequence[tuple[int, int]]") -> "tuple[frozenset[str], frozenset[str]]":
    """The registers for arguments to which perhaps no way through a function writes, nor a function that it calls; and
    those to which none does for certain.
    """
    left = caller_state.ALL
    touched: set[str] = set()
    waiting = [function]
    seen: set[int] = set()
    is_all = True
    while waiting and left:
        at = waiting.pop()
        if at in seen:
            continue
        if _is_in(at, stubs):
            return frozenset(), frozenset()  # a function that nobody knew when the caller was compiled
        ends = leads_on = False
        for address, text in _from(at) if len(seen) < _MOST_BEHIND else ():
            one = att.parsed(address, text)
            ends = address in seen or one.name.startswith(_FILLING)
            if ends:
                break  # what fills up is behind a call that never returns
            seen.add(address)
            touched |= caller_state.touched(one)
            if (one.calls or one.jumps) and one.target is not None:
                waiting.append(one.target)
            elif one.calls and one.operands != ["*(%rax)"]:
                return frozenset(), frozenset()
            elif one.jumps or one.calls:
                is_all = False
            if one.returns and leads_on:
                is_all = False
            leads_on = one.operands[-1:] == ["(%rsp)"] or one.name.startswith(
                "push"
            )  # a return to it (retpoline)
            ends = one.returns or one.name in ("jmp", "jmpq", "ud2", "hlt")
            if ends:
                break
            if not one.calls and not one.name.startswith("pop"):
                left -= call_site.written(one)
        is_all = is_all and ends
    return left, left - touched if is_all else frozenset()


def _from(address: int) -> "list[tuple[int, str]]":
    """The instructions from an address on, as far as they can be read."""
    try:
        return (disassembled([(address, address + _BEGINNING)]) or [[]])[0]
    except gdb.MemoryError:
        return []


def _targets(way: att.Instruction, text: str, known: CallerCode) -> "set[int]":
    """Where a call or a jump goes for certain, and where the stub of the linker goes on to that it leads to."""
    stubs, slots = known.stubs, known.slots
    if not way.operands:
        return set()
    if way.operands[0].startswith("*"):
        return _in_slot(text, slots)
    if way.target is None:
        return set()
    return {way.target, *(_behind_stub(way.target, slots) if _is_in(way.target, stubs) else ())}


def _is_in(address: int, parts: "Sequence[tuple[int, int]]") -> bool:
    return any(start <= address < end for start, end in parts)


def _read_at(text: str) -> int:
    """The address that an instruction names by its distance to it; zero where it names none."""
    resolved = _RESOLVED.search(text) if "(%rip)" in text else None
    return int(resolved.group(1), 16) if resolved is not None else 0


def _in_slot(text: str, slots: "Sequence[tuple[int, int]]") -> "set[int]":
    """What the linker has filled in, where an instruction reads it."""
    place = _read_at(text)
    if not _is_in(place, slots):
        return set()
    return {int.from_bytes(read(place, 8), "little")}


def _behind_stub(address: int, slots: "Sequence[tuple[int, int]]") -> "set[int]":
    rows = (disassembled([(address, address + _PLT)]) or [[]])[0]
    for _, text in rows[:2]:
        if re.search(r"\bjmpq?\s+\*", text):
            return _in_slot(text, slots)
        if "endbr64" not in text:
            return set()
    return set()
