"""Which native frames are evaluation loops: by what each loop keeps on its own stack, else by their names.

From 3.12 on each loop has a frame of its own below the Python frames that it runs: the entry frame, a local variable
of _PyEval_EvalFrameDefault. In 3.11 such a variable is the _PyCFrame, which leads to those frames. So the C frame
around its address is the loop, whatever it is called. (Link-time optimisation puts the loop into its callers, compilers
put aside what it seldom runs, as what calls a trace function, and distributions strip the names.) A tail-calling
interpreter runs the bytecodes in one more C frame, called by that one; it is known by its name alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

from ..model import NativeFrame
from .roles import is_bytecode, is_loop_function


def frame_around(frames: Sequence[NativeFrame], address: int) -> int | None:
    """The position of the frame in which ``address`` lies, of which ``frames`` are those of a thread, innermost first.

    None where it lies in none of them, or in the outermost one, whose end nobody knows. A signal handler on a stack of
    its own seems to reach over everything between the two stacks, so the smallest frame counts.
    """
    found: tuple[int, int] | None = None
    for at, (frame, caller) in enumerate(pairwise(frames)):
        if frame.sp is not None and caller.sp is not None and frame.sp <= address < caller.sp:
            found = min(found or (caller.sp - frame.sp, at), (caller.sp - frame.sp, at))
    return _within(frames, found[1]) if found is not None else None


def _within(frames: Sequence[NativeFrame], at: int) -> int:
    """Of a function and what debug info finds inlined in it, the loop itself; the function where none has its name."""
    inner = at
    while inner and frames[inner - 1].inlined:
        inner -= 1
    named = (position for position in range(inner, at + 1) if is_loop_function(frames[position]))
    return next(named, at)


def with_loops(frames: Sequence[NativeFrame], addresses: Collection[int]) -> list[NativeFrame]:
    """The frames of a thread, each marked as a loop or not. ``addresses`` are those of its loops.

    Where none of them lies in a frame, nothing is marked.
    """
    loops = {at for at in (frame_around(frames, address) for address in addresses) if at is not None}
    if not loops:
        return list(frames)
    # A loop that has just begun has made no frame yet: then its name counts.
    return [
        replace(frame, evaluates=at in loops or is_loop_function(frame) or is_bytecode(frame))
        for at, frame in enumerate(frames)
    ]


def bytecode_of(frames: Sequence[NativeFrame], loop: int) -> int | None:
    """The position of the frame in which the tail-calling loop at ``loop`` runs its bytecodes; None of another loop."""
    at = loop - 1
    while at >= 0 and frames[at].inlined:
        at -= 1
    return at if at >= 0 and is_bytecode(frames[at]) else None
