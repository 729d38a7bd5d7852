"""Frames, stacks and places of steps for the tables of their tests. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dualdbg.model import Language, NativeFrame, PythonFrame, Quality, Reason, Role, Stack, Stop, Thread
from dualdbg.session.stepping.plan import (
    NativeGround,
)
from dualdbg.session.stepping.step import Step
from dualdbg.session.stepping.stop_points import FunctionCalls, Left, Pad

TID, THREAD = 10, 1
LINE = NativeFrame(0, 0x100, "f", file="/x.c", line=3, sp=16)
NO_LINE = NativeFrame(0, 0x100, "f", sp=16)
CALLER = NativeFrame(1, 0x180, "g", file="/x.c", line=9, sp=64)
LOOP = NativeFrame(2, 0x900, "_PyEval_EvalFrameDefault", sp=128, role=Role.PLUMBING)
PYTHON = PythonFrame("p", "/x.py", 3)
STOP = Stop(1, Language.NATIVE, Reason.BREAKPOINT, Thread(TID, "python"), LINE)
LEFT = Left(LINE, CALLER, "f")
CALLS = FunctionCalls(0x100, 0x140, callees=(0x300,), sites=(0x110,))


def stack(*frames: NativeFrame | PythonFrame) -> Stack:
    return Stack(TID, frames, Quality.FULL)


def ground(**known: Any) -> NativeGround:
    return NativeGround(TID, STOP, gdb_thread=THREAD, **known)


IN_C = stack(LINE, CALLER, LOOP, PYTHON)
OUTERMOST_C = stack(LINE, LOOP, PYTHON)
ON_PYTHON_LINE = stack(LOOP, PYTHON)
IN_CALLBACK = stack(LOOP, PYTHON, CALLER, replace(LOOP, level=4), PYTHON)
QSORT = NativeFrame(
    3, 0x190, "qsort", library="/lib/x86_64-linux-gnu/libc.so.6", file="msort.c", line=5, sp=48
)

NATIVE_STEP = Step("next", TID, THREAD, top=LINE)
BELOW = replace(
    NATIVE_STEP, end=CALLER.sp, within=("f",)
)  # the caller of the function that was left is known
PAD = Pad(0x130, CALLER.sp or 0, 0, 0, is_cxx=True)
OUTER_PAD = Pad(0x1B0, 128, 1, 1, is_cxx=False)
SHARED_PAD = Pad(0x1B0, 128, 0, 1, is_cxx=True)
