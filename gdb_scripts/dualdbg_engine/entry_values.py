"""What was passed to functions without debug info, noted at their entries and forgotten when the call may be over.

A frame is the same call of its function where it has the same canonical frame address and the same return address, and
nothing has come to the function's entry at that address since. A breakpoint at the entry sees that, however the call
has ended: by its return, an exception or longjmp. One at the return address ends the watch as soon as it can, so that
the program runs at full speed again.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

import gdb
from dualdbg_helpers import language

from .deletions import when_gone
from .memory import read
from .threads import WORD

_MOST = 32  # calls that are noted at once
_MOST_ARRIVALS = 1000  # of other calls at one place: then the watch costs more than it is worth
_X86 = "i386:x86-64"
_SLOT = 8  # bytes of a return address, just below the canonical frame address (System V ABI for AMD64, figure 3.3)


class Call(NamedTuple):
    """One call of a function: in which thread, by gdb's number, where the function begins, its canonical frame address,
    and where it returns to.
    """

    thread: int
    entry: int
    top: int
    returns_to: int


_noted: dict[Call, dict[str, str]] = {}  # by name: the texts of its arguments
_watched: dict[tuple[int, int], "_Place"] = {}  # by thread and address


class _Place(gdb.Breakpoint):
    """An entry or a return address, for one thread. It never stops the program."""

    def watch(self, thread: int, address: int) -> None:
        self.thread = thread
        self._key = thread, address
        self._arrivals = 0
        when_gone(self, self._gone)

    def _gone(self) -> None:
        _watched.pop(self._key, None)
        _forget([call for call in _noted if self._key in _places(call)])

    def stop(self) -> bool:
        thread, address = self._key
        pointer = int(gdb.newest_frame().read_register("rsp")) & WORD
        self._arrivals += 1
        tired = self._arrivals > _MOST_ARRIVALS
        over = [
            call
            for call in _noted
            if call.thread == thread
            and (
                (call.entry == address and (tired or call.top <= pointer + _SLOT))
                or (call.returns_to == address and (tired or call.top <= pointer))
            )
        ]
        if over:
            _forget(over)
            gdb.post_event(_delete_unused)  # a breakpoint may not be deleted while gdb asks it
        return False


def call_of(frame: gdb.Frame, entry: int) -> Optional[Call]:
    """The call of the function at ``entry`` that a frame is; None where that is not known."""
    if not frame.architecture().name().startswith(_X86):
        return None
    try:
        caller = frame.older()
        if caller is None or caller.type() not in (gdb.NORMAL_FRAME, gdb.INLINE_FRAME):
            return None
        top = int(caller.read_register("rsp")) & WORD
        returns_to = int.from_bytes(read(top - _SLOT, _SLOT), "little")
        is_called = returns_to == caller.pc()
    except gdb.error:  # a stack that was overwritten cannot be unwound
        return None
    return Call(gdb.selected_thread().num, entry, top, returns_to) if is_called else None


def note(frame: gdb.Frame, entry: int, texts: "dict[str, str]") -> None:
    """Keep the texts of the arguments of a frame at the entry of its function, for as long as the call lasts."""
    call = call_of(frame, entry)
    if call is None or not texts:
        return
    threads = {thread.num for thread in gdb.selected_inferior().threads()}
    ours = call.thread, entry
    _forget([one for one in _noted if one.thread not in threads])
    _forget([one for one in _noted if one[:2] == ours and one.top <= call.top])
    _forget(list(_noted)[: max(0, len(_noted) - _MOST + 1)])
    _noted[call] = texts
    with language.ours():
        for thread, address in _places(call):
            if (thread, address) not in _watched:
                _watched[thread, address] = place = _Place("*%d" % address, internal=True)
                place.watch(thread, address)
    _delete_unused()


def noted(frame: gdb.Frame, entry: int) -> "dict[str, str]":
    """What was noted of the call that a frame is, by the names of the arguments."""
    call = call_of(frame, entry) if any(one.entry == entry for one in _noted) else None
    return _noted.get(call, {}) if call is not None else {}


def forget_all() -> None:
    """Nothing that was noted holds any more: the process runs another program."""
    _noted.clear()
    _delete_unused()


def _places(call: Call) -> "tuple[tuple[int, int], tuple[int, int]]":
    return (call.thread, call.entry), (call.thread, call.returns_to)


def _forget(calls: "list[Call]") -> None:
    for call in calls:
        _noted.pop(call, None)


def _delete_unused() -> None:
    used = {place for call in _noted for place in _places(call)}
    for key in [key for key in _watched if key not in used]:
        place = _watched.pop(key)
        if place.is_valid():
            place.delete()
