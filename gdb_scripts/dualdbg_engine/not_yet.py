"""Arguments that are not where debug info says: at the entry of a function nothing is in its part of the stack.

GCC gives a parameter that it moves from a register to the stack (a small class, such as std::optional<c10::Device>) the
place on the stack from the first instruction on, also in optimised code, where a breakpoint on the function stops
before the instruction that moves it. What gdb reads there is of an earlier call.
"""

from __future__ import annotations

import contextlib
import re

import gdb

from .threads import WORD

_NAMES = re.compile(
    r"(?<![\w.$:&])(?<!->)[A-Za-z_]\w*"
)  # whose values an expression needs: not those of members
NOT_YET = "<not there yet: the function has just been entered>"


def is_not_yet(frame: gdb.Frame, value: "gdb.Value | Exception") -> bool:
    """Whether an argument of a frame, or a part of one, has a place to which nothing was written yet."""
    if isinstance(value, Exception) or not _is_at_entry(frame):
        return False
    try:
        return value.address is not None and int(value.address) & WORD < _end_of_frame(frame)
    except (gdb.error, RuntimeError):
        return False


def argument_not_yet(frame: gdb.Frame, expression: str) -> "gdb.Symbol | None":
    """The argument in an expression of which :func:`is_not_yet` holds; what it leads to is not there yet either."""
    names = _NAMES.findall(expression) if _is_at_entry(frame) else ()
    block = frame.block() if names else None
    while block is not None:
        for symbol in block:
            with contextlib.suppress(gdb.error, RuntimeError):  # it has no value
                if symbol.is_argument and symbol.name in names and is_not_yet(frame, symbol.value(frame)):
                    return symbol
        block = block.superblock if block.function is None else None
    return None


def _end_of_frame(frame: gdb.Frame) -> int:
    """Where the part of the stack ends that is the function's own; what the caller has passed lies behind."""
    caller = frame.older()
    return int((caller if caller is not None else frame).read_register("sp")) & WORD


def _is_at_entry(frame: gdb.Frame) -> bool:
    """Whether a frame is the innermost one, and nothing but a prologue of its function has run."""
    if frame.newer() is not None or frame.type() != gdb.NORMAL_FRAME:
        return False
    function = frame.function()
    # Its value is at its entry; its block begins with the first part in memory, which may be a cold one.
    address = function.value().address if function is not None else None
    if address is None:
        return False
    from .entries import at_entry  # loads the helpers

    return at_entry(frame, int(address) & WORD)
