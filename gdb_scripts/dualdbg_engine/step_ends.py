"""Breakpoints where a step may end: where a call returns to, and where an exception is caught.

Each looks itself whether its time has come, so that gdb's own step goes on where it has not. Their conditions are no
expressions: those depend on the language of the code.
"""

from __future__ import annotations

from typing import Sequence

import gdb
from dualdbg_helpers import language
from dualdbg_shared.libraries import is_system_source
from dualdbg_shared.requests.breakpoints import (
    FindCallerAtEntry,
    InsertStepEnds,
    ReturnAddress,
    StepEndNumbers,
    WantedResult,
)

from . import memory, returned
from .registry import answers
from .threads import WORD, find_thread, function_block, show_while

_X86 = "i386:x86-64"
# The register in which the unwinder says at a landing pad which handler has matched; 0 is a clean-up, below 0 an
# exception specification. GCC's __builtin_eh_return_data_regno(1).
_SELECTOR = {"i386:x86-64": "rdx", "aarch64": "x1"}
# The register before that one, with the exception. A panic of Rust has this class (library/panic_unwind/src/gcc.rs);
# what finds handlers for Rust says of none which it is.
_EXCEPTION = {"i386:x86-64": "rax", "aarch64": "x0"}
_RUST = b"MOZ\0RUST"
_LANDINGS = 2  # returns that are watched by the processor, which has four such watches for everybody
_FRAME = 16  # bytes; a stack frame is aligned to them, on x86-64 and AArch64


class _Landing(gdb.Breakpoint):
    """Stops when the call has returned to ``address``, with at least ``lowest`` in the stack pointer.

    A deeper call may return through the same place, and the unwinder reads and writes return addresses too. The first
    time that it would stop it notes the result, where ``reading`` says how. It does not stop where it only notes that.
    """

    def wait_for(
        self, number: int, address: int, lowest: int, reading: "returned.Reading | None", notes_only: bool
    ) -> None:
        self._thread = number
        self._address = address
        self._lowest = lowest
        self._reading = reading
        self._notes_only = notes_only

    def stop(self) -> bool:
        thread = gdb.selected_thread()
        frame = gdb.newest_frame()
        if thread is None or thread.num != self._thread or frame.pc() != self._address:
            return False
        if _register(frame, "sp") < self._lowest:
            return False
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.note(frame)
        if not self._notes_only:
            self._show_users(frame)
        return not self._notes_only

    def _show_users(self, frame: gdb.Frame) -> None:
        """Show the user's function that made the call, where that is of a library's code that was inlined there."""
        users: gdb.Frame | None = frame
        while users is not None and users.type() == gdb.INLINE_FRAME and _is_at_librarys_line(users):
            users = users.older()
        block = function_block(users) if users is not None and users != frame else None
        if block is not None and not _is_at_librarys_line(users):
            show_while(self, self._address, block)


def _is_at_librarys_line(frame: gdb.Frame) -> bool:
    table = frame.find_sal().symtab
    return table is not None and is_system_source(table.fullname())


class _Pad(gdb.Breakpoint):
    """Stops where the unwinder lands in a handler of the frame that ends at ``top``, its canonical frame address."""

    def wait_for(self, number: int, top: int, is_mute: int) -> None:
        self.thread = number
        self._top = top
        self._is_mute = is_mute

    def stop(self) -> bool:
        frame = gdb.newest_frame()
        architecture = frame.architecture().name().partition(":intel")[0]
        selector = _register(frame, _SELECTOR[architecture])
        catches = 0 < selector < 1 << 31
        if selector == 0 and self._is_mute:
            catches = _is_panic(_register(frame, _EXCEPTION[architecture]))
        return catches and top_of(frame) == self._top


class _Catch(gdb.Breakpoint):
    """Stops where the frame whose stack pointer is ``pointer`` enters ``__cxa_begin_catch``."""

    def wait_for(self, number: int, pointer: int) -> None:
        self.thread = number
        self._pointer = pointer

    def stop(self) -> bool:
        # A destructor that runs before may have a handler of its own, deeper in the stack.
        return _register(gdb.newest_frame(), "sp") > self._pointer - _FRAME


@answers(InsertStepEnds)
def insert_step_ends(
    gdb_thread: int,
    returns: "Sequence[tuple[int, int]]",
    pads: "Sequence[tuple[int, int, bool]]",
    catches: "Sequence[tuple[int, int]]",
    result: "WantedResult | None" = None,
) -> StepEndNumbers:
    """Set breakpoints for a thread; returns gdb's numbers.

    ``returns``: where a call returns to, and the lowest stack pointer then. ``pads``: landing pads, the end of the
    frame, and whether they may be mute. ``catches``: addresses of ``__cxa_begin_catch``, and the stack pointer of the
    frame that calls it. ``result``: one more return, at which the step does not end but what the function has returned
    is read (:class:`returned.Reading`); where it is among ``returns`` too, it is one breakpoint.
    """
    place = (result.pc, result.sp) if result is not None else None
    reading = returned.Reading(gdb_thread, *result[2:]) if result is not None else None
    with language.ours():
        landings = [
            _landing(gdb_thread, address, lowest, reading if (address, lowest) == place else None)
            for address, lowest in returns
        ]
        notes = []
        if place is not None and place not in returns:
            may_watch = len(returns) < _LANDINGS and not _watches()
            notes = [_landing(gdb_thread, place[0], place[1], reading, True, may_watch)]
        numbers = []
        for kind, rows in ((_Pad, pads), (_Catch, catches)):
            points = [kind("*%d" % row[0], internal=True) for row in rows]
            for point, (_, *where) in zip(points, rows):
                point.wait_for(gdb_thread, *where)
            numbers.append(tuple(point.number for point in points))
    at_pads, at_catches = numbers
    return StepEndNumbers(tuple(landings), at_pads, at_catches, tuple(notes))


def _landing(
    number: int,
    address: int,
    lowest: int,
    reading: "returned.Reading | None" = None,
    notes_only: bool = False,
    may_watch: bool = True,
) -> int:
    """A return address is read when it is returned to, and hardly ever before.

    So a hardware watchpoint on its slot, just below the caller's stack pointer, costs nothing while deeper calls come
    and go. Where no watchpoint is free, or calls do not return by the stack, a breakpoint does it.
    """
    point = None
    if lowest and may_watch and gdb.selected_inferior().architecture().name().startswith(_X86):
        try:
            slot = "*(unsigned long *)%d" % (lowest - 8)
            point = _Landing(slot, gdb.BP_WATCHPOINT, gdb.WP_ACCESS, internal=True)
        except (gdb.error, RuntimeError):
            point = None  # the breakpoint below serves as well, only slower
    if point is None:
        point = _Landing("*%d" % address, internal=True)
        point.thread = number
    point.wait_for(number, address, lowest, reading, notes_only)
    return int(point.number)


def _watches() -> bool:
    """Whether the user has watchpoints: then the processor may have no watch to spare."""
    kinds = (gdb.BP_HARDWARE_WATCHPOINT, gdb.BP_READ_WATCHPOINT, gdb.BP_ACCESS_WATCHPOINT)
    return any(point.type in kinds and point.number > 0 for point in gdb.breakpoints())  # ours are below 0


@answers(FindCallerAtEntry)
def caller_at_entry(gdb_thread: int) -> ReturnAddress:
    find_thread(gdb_thread).switch()
    frame = gdb.newest_frame()
    pointer = _register(frame, "sp")
    if frame.architecture().name().startswith(_X86):
        return ReturnAddress(int.from_bytes(memory.read(pointer, 8), "little"), pointer + 8)
    return ReturnAddress(_register(frame, "lr"), pointer)


def _is_panic(exception: int) -> bool:
    """Whether an exception is a panic of Rust: it begins with its class."""
    try:
        return memory.read(exception, 8) == _RUST
    except gdb.error:
        return False


def top_of(frame: gdb.Frame) -> int | None:
    """The canonical address of a frame: its caller's stack pointer. Inlined frames share that of their function."""
    while frame.type() == gdb.INLINE_FRAME:
        outer = frame.older()
        if outer is None:
            return None
        frame = outer
    caller = frame.older()
    return _register(caller, "sp") if caller is not None else None


def _register(frame: gdb.Frame, name: str) -> int:
    return int(frame.read_register(name)) & WORD
