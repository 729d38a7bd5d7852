"""What the call that has just led to a function tells of its arguments, where it surely was a call of this function."""

from __future__ import annotations

import re

import gdb
from dualdbg_helpers import abi, att, call_site, entry_code

from . import helpers
from .memory import read
from .passed import disassembled
from .threads import WORD, find_frame

_RESOLVED = re.compile(r"#\s*(0x[0-9a-f]+)")
_PLT = 32  # bytes
_MOST_CALLERS = 16
_MOST_BEFORE = 100  # instructions


class _Caller:
    """The code of a function that calls; none of one that has a frame pointer: perhaps it was not optimised, and such
    code leaves in registers what it needs no more.
    """

    def __init__(self, start: int, end: int) -> None:
        rows = (disassembled([[start, end]]) or [[]])[0]
        self.code = entry_code.code_of([rows])
        if entry_code.has_frame_pointer(self.code):
            rows = []
        self.texts = dict(rows)
        starts = [*self.texts]
        self.before = {behind: self.code.rows[at] for at, behind in zip(starts, [*starts[1:], end])}

    def straight_before(self, one: att.Instruction) -> "list[att.Instruction]":
        """The instructions in front of one to which no jump leads but to the first."""
        found: list[att.Instruction] = []
        targets = self.code.jumped_to
        at = one.address
        while at in self.before and at not in targets and len(found) < _MOST_BEFORE:
            at = self.before[at].address
            found.insert(0, self.code.rows[at])
        return found


_callers: "dict[tuple[int, bytes], _Caller]" = {}


def _caller(start: int, end: int) -> _Caller:
    """The code there, read once as long as it is the same."""
    key = start, read(start, end - start)
    if key not in _callers:
        if len(_callers) >= _MOST_CALLERS:
            _callers.clear()
        _callers[key] = _Caller(start, end)
    return _callers[key]


def filled_registers(number: int, entry: int, part: "list[int]") -> "list[str]":
    """The registers that the caller has filled for the call at whose entry a thread stands.

    ``part``: start and end of the code around the return address. Nothing where the call is not surely one of the
    function at ``entry``: another function may have passed it on by a jump.
    """
    helpers.load()
    frame = find_frame(number, 0)
    if abi.architecture(frame.architecture().name()) != abi.X86_64 or frame.pc() != entry:
        return []
    returns_to = int.from_bytes(read(int(frame.read_register("rsp")) & WORD, 8), "little")
    caller = _caller(part[0], part[1])
    behind = caller.before.get(returns_to)
    if (
        behind is None
        or not behind.calls
        or entry not in _targets(frame, behind, caller.texts[behind.address])
    ):
        return []
    found = call_site.filled(caller.straight_before(behind))
    # What is called by its address, and what the linker may replace, nobody could know when the caller was compiled.
    is_direct = behind.target == entry
    used = call_site.used_behind(caller.code, returns_to, found) if is_direct else set()
    return [name for name in found if name not in used]


def _targets(frame: gdb.Frame, call: att.Instruction, text: str) -> "set[int]":
    """Where a call goes, and where the stub of the linker goes on to that it calls."""
    operand = call.operands[0] if call.operands else ""
    if not operand.startswith("*"):
        return {call.target, *_behind_stub(call.target)} if call.target is not None else set()
    part = att.register(operand[1:])
    if part is not None:
        return {int(frame.read_register(part[0])) & WORD} if part[1] == 8 else set()
    resolved = _RESOLVED.search(text)
    if resolved is not None:
        return {int.from_bytes(read(int(resolved.group(1), 16), 8), "little")}
    place = att.memory(operand[1:])
    if place is None or place.scaled is not None or place.segment or place.base in (None, "rip"):
        return set()
    base = int(frame.read_register(str(place.base))) & WORD
    moved = 8 if place.base == "rsp" else 0  # the call has pushed the return address
    return {int.from_bytes(read((base + moved + place.offset) & WORD, 8), "little")}


def _behind_stub(address: int) -> "list[int]":
    rows = (disassembled([[address, address + _PLT]]) or [[]])[0]
    for _, text in rows[:2]:
        resolved = _RESOLVED.search(text)
        if re.search(r"\bjmpq?\s+\*", text) and resolved is not None:
            return [int.from_bytes(read(int(resolved.group(1), 16), 8), "little")]
        if "endbr64" not in text:
            return []
    return []
