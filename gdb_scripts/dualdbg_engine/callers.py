"""What the call that has just led to a function tells of its arguments, where it surely was a call of this function."""

from __future__ import annotations

import re

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


def filled_registers(
    number: int, entry: int, part: "list[int]", stubs: "list[list[int]]", slots: "list[list[int]]"
) -> "list[str]":
    """The registers that the caller has filled for the call at whose entry a thread stands.

    ``part``: start and end of the code around the return address. ``stubs`` and ``slots``: where stubs of the linker
    are there (``.plt``), and the addresses of functions that it fills in (``.got``). Nothing where the call is not
    surely one of the function at ``entry``: a function that is called by its address may have passed it on by a jump.
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
        or entry not in _targets(behind, caller.texts[behind.address], stubs, slots)
    ):
        return []
    found = call_site.filled(caller.straight_before(behind))
    # What the linker may replace nobody could know when the caller was compiled.
    is_direct = behind.target == entry
    used = call_site.used_behind(caller.code, returns_to, found) if is_direct else set()
    return [name for name in found if name not in used]


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
