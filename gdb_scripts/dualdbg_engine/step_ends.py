"""Breakpoints where a step may end: where a call returns to, and where an exception is caught.

Each looks itself whether its time has come, so that gdb's own step goes on where it has not. Their conditions are no
expressions: those depend on the language of the code.
"""

from __future__ import annotations

import gdb
from dualdbg_helpers import language

from . import memory
from .threads import WORD, find_thread

_X86 = "i386:x86-64"
# The register in which the unwinder says at a landing pad which handler has matched; 0 is a clean-up, below 0 an
# exception specification. GCC's __builtin_eh_return_data_regno(1).
_SELECTOR = {"i386:x86-64": "rdx", "aarch64": "x1"}
# The register before that one, with the exception. A panic of Rust has this class (library/panic_unwind/src/gcc.rs);
# what finds handlers for Rust says of none which it is.
_EXCEPTION = {"i386:x86-64": "rax", "aarch64": "x0"}
_RUST = b"MOZ\0RUST"
_FRAME = 16  # bytes; a stack frame is aligned to them, on x86-64 and AArch64


class _Landing(gdb.Breakpoint):
    """Stops when the call has returned to ``address``, with at least ``lowest`` in the stack pointer.

    A deeper call may return through the same place, and the unwinder reads and writes return addresses too.
    """

    def wait_for(self, number: int, address: int, lowest: int) -> None:
        self._thread = number
        self._address = address
        self._lowest = lowest

    def stop(self) -> bool:
        thread = gdb.selected_thread()
        frame = gdb.newest_frame()
        return (
            thread is not None
            and thread.num == self._thread
            and frame.pc() == self._address
            and _register(frame, "sp") >= self._lowest
        )


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
        return catches and _top(frame) == self._top


class _Catch(gdb.Breakpoint):
    """Stops where the frame whose stack pointer is ``pointer`` enters ``__cxa_begin_catch``."""

    def wait_for(self, number: int, pointer: int) -> None:
        self.thread = number
        self._pointer = pointer

    def stop(self) -> bool:
        # A destructor that runs before may have a handler of its own, deeper in the stack.
        return _register(gdb.newest_frame(), "sp") > self._pointer - _FRAME


def insert_step_ends(
    number: int, returns: list[list[int]], pads: list[list[int]], catches: list[list[int]]
) -> list[list[int]]:
    """Set breakpoints for thread ``number``; returns gdb's numbers, in three lists.

    ``returns``: where a call returns to, and the lowest stack pointer then. ``pads``: landing pads, the end of the
    frame, and whether they may be mute. ``catches``: addresses of ``__cxa_begin_catch``, and the stack pointer of the
    frame that calls it.
    """
    with language.ours():
        landings = [_landing(number, address, lowest) for address, lowest in returns]
        numbers = []
        for kind, rows in ((_Pad, pads), (_Catch, catches)):
            points = [kind("*%d" % row[0], internal=True) for row in rows]
            for point, (_, *where) in zip(points, rows):
                point.wait_for(number, *where)
            numbers.append([point.number for point in points])
    return [landings, *numbers]


def _landing(number: int, address: int, lowest: int) -> int:
    """A return address is read when it is returned to, and hardly ever before.

    So a hardware watchpoint on its slot, just below the caller's stack pointer, costs nothing while deeper calls come
    and go. Where no watchpoint is free, or calls do not return by the stack, a breakpoint does it.
    """
    point = None
    if lowest and gdb.selected_inferior().architecture().name().startswith(_X86):
        try:
            slot = "*(unsigned long *)%d" % (lowest - 8)
            point = _Landing(slot, gdb.BP_WATCHPOINT, gdb.WP_ACCESS, internal=True)
        except (gdb.error, RuntimeError):
            point = None  # the breakpoint below serves as well, only slower
    if point is None:
        point = _Landing("*%d" % address, internal=True)
        point.thread = number
    point.wait_for(number, address, lowest)
    return int(point.number)


def caller_at_entry(number: int) -> dict[str, int]:
    """Where the function returns to at whose first instruction thread ``number`` stands, and the stack pointer then."""
    find_thread(number).switch()
    frame = gdb.newest_frame()
    pointer = _register(frame, "sp")
    if frame.architecture().name().startswith(_X86):
        return {"pc": int.from_bytes(memory.read(pointer, 8), "little"), "sp": pointer + 8}
    return {"pc": _register(frame, "lr"), "sp": pointer}


def _is_panic(exception: int) -> bool:
    """Whether an exception is a panic of Rust: it begins with its class."""
    try:
        return memory.read(exception, 8) == _RUST
    except gdb.error:
        return False


def _top(frame: gdb.Frame) -> int | None:
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
