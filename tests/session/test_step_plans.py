"""How a step begins and where it ends, as functions of what is known: each row is a place, or a stop. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dualdbg.backends.events import PythonCause, PythonStopped
from dualdbg.backends.native import Move
from dualdbg.errors import WrongState
from dualdbg.session.stepping.plan import (
    GroundFact,
    NativeGround,
    NativePlan,
    PythonGround,
    PythonPlan,
    Watch,
    plan_continue,
    plan_goto,
    plan_native_goto,
    plan_native_step,
    plan_python_step,
)
from dualdbg.session.stepping.step import CONTINUE, Step
from dualdbg.session.stepping.stop_points import StopPoints
from dualdbg.session.stops.facts import PythonHold
from dualdbg.snapshot.cpython.held_process import Attachment
from tests.session.step_places import (
    BELOW,
    CALLER,
    CALLS,
    IN_C,
    IN_CALLBACK,
    LEFT,
    LINE,
    LOOP,
    NATIVE_STEP,
    NO_LINE,
    ON_PYTHON_LINE,
    OUTER_PAD,
    OUTERMOST_C,
    PAD,
    PYTHON,
    QSORT,
    SHARED_PAD,
    STOP,
    THREAD,
    TID,
    ground,
    stack,
)

NATIVE_PLANS: dict[str, tuple[str, int | None, NativeGround, NativePlan | GroundFact]] = {
    "the thread first": ("next", None, NativeGround(TID, STOP), GroundFact.THREAD),
    "stepi needs nothing else": (
        "stepi",
        None,
        ground(),
        NativePlan(THREAD, move=Move.STEP_INSTRUCTION, step=Step("stepi", TID, THREAD)),
    ),
    "then the stack": ("next", None, ground(), GroundFact.STACK),
    "next asks only where native code returns": ("next", None, ground(stack=IN_C), GroundFact.EXIT),
    "next in native code that Python did not call": (
        "next",
        None,
        ground(stack=IN_C, exit=None, pads=()),
        NativePlan(THREAD, move=Move.NEXT, step=BELOW),
    ),
    "next asks for handlers": ("next", None, ground(stack=IN_C, exit=LOOP), GroundFact.PADS),
    "next ends at a handler of the function or of its caller": (
        "next",
        None,
        ground(stack=IN_C, exit=LOOP, pads=(PAD, OUTER_PAD)),
        NativePlan(
            THREAD, places=StopPoints(returns=(LOOP,), pads=(PAD, OUTER_PAD)), move=Move.NEXT, step=BELOW
        ),
    ),
    "finish ends at a handler of the caller": (
        "finish",
        None,
        ground(stack=IN_C, exit=None, pads=(PAD, OUTER_PAD)),
        NativePlan(
            THREAD,
            places=StopPoints(returns=(CALLER,), pads=(OUTER_PAD,), left=LEFT),
            step=replace(BELOW, kind="finish"),
        ),
    ),
    "finish from an inlined function ends at a handler of the one around it": (
        "finish",
        None,
        ground(stack=stack(replace(LINE, inlined=True), CALLER, LOOP), exit=None, pads=(SHARED_PAD,)),
        NativePlan(
            THREAD,
            places=StopPoints(pads=(SHARED_PAD,)),
            move=Move.FINISH,
            step=replace(
                BELOW, kind="finish", top=replace(LINE, inlined=True), end=LOOP.sp, within=("g", "f")
            ),
        ),
    ),
    "next from a callback of the C library ends in the function that called that": (
        "next",
        None,
        ground(stack=stack(LINE, QSORT, CALLER, LOOP), exit=LOOP, pads=()),
        NativePlan(
            THREAD,
            places=StopPoints(returns=(LOOP, CALLER)),
            move=Move.NEXT,
            step=replace(BELOW, end=QSORT.sp),
        ),
    ),
    "next lands in Python when the function returns": (
        "next",
        None,
        ground(stack=IN_C, exit=LOOP, pads=()),
        NativePlan(THREAD, places=StopPoints(returns=(LOOP,)), move=Move.NEXT, step=BELOW),
    ),
    "step asks whether debugpy can be armed": ("step", None, ground(stack=IN_C), GroundFact.MAY_CALL),
    "step arms debugpy for a callback": (
        "step",
        None,
        ground(stack=IN_C, may_call_python=True, exit=LOOP, pads=()),
        NativePlan(
            THREAD,
            arm="step",
            places=StopPoints(returns=(LOOP,)),
            move=Move.STEP,
            step=replace(BELOW, kind="step"),
        ),
    ),
    "step arms nothing where no Python can run": (
        "step",
        None,
        ground(stack=IN_C, may_call_python=False, exit=None, pads=()),
        NativePlan(THREAD, move=Move.STEP, step=replace(BELOW, kind="step")),
    ),
    "step without lines asks for the calls": (
        "step",
        None,
        ground(stack=stack(NO_LINE, CALLER), may_call_python=False, exit=None),
        GroundFact.CALLS,
    ),
    "step without lines ends in what is called or in the caller": (
        "step",
        None,
        ground(stack=stack(NO_LINE, CALLER), may_call_python=False, exit=None, calls=CALLS, pads=()),
        NativePlan(
            THREAD,
            places=StopPoints(returns=(CALLER,), calls=CALLS, left=replace(LEFT, frame=NO_LINE)),
            step=replace(BELOW, kind="step", top=NO_LINE),
        ),
    ),
    "next without lines is finish": (
        "next",
        None,
        ground(stack=stack(NO_LINE, CALLER), exit=None, pads=()),
        NativePlan(
            THREAD,
            places=StopPoints(returns=(CALLER,), left=replace(LEFT, frame=NO_LINE)),
            step=replace(BELOW, top=NO_LINE),
        ),
    ),
    "finish to the native caller or to Python": (
        "finish",
        None,
        ground(stack=IN_C, exit=LOOP, pads=()),
        NativePlan(
            THREAD, places=StopPoints(returns=(LOOP, CALLER), left=LEFT), step=replace(BELOW, kind="finish")
        ),
    ),
    "finish to Python alone": (
        "finish",
        None,
        ground(stack=OUTERMOST_C, exit=LOOP, pads=()),
        NativePlan(
            THREAD,
            places=StopPoints(returns=(LOOP,), left=replace(LEFT, caller=LOOP)),
            step=replace(BELOW, kind="finish", end=LOOP.sp),
        ),
    ),
    "finish is gdb's own where no frame of the user is below": (
        "finish",
        None,
        ground(stack=stack(LINE), exit=None, pads=()),
        NativePlan(THREAD, move=Move.FINISH, step=replace(NATIVE_STEP, kind="finish", within=("f",))),
    ),
    "a chosen function is entered by next": (
        "step",
        0x500,
        ground(stack=IN_C, exit=None, pads=()),
        NativePlan(THREAD, places=StopPoints(chosen=0x500), move=Move.NEXT, step=BELOW),
    ),
    "a Python line asks for the GIL": ("next", None, ground(stack=ON_PYTHON_LINE), GroundFact.GIL),
    "then for native code that called the function": (
        "next",
        None,
        ground(stack=IN_CALLBACK, attachment=Attachment.ATTACHED),
        GroundFact.CALLER,
    ),
    "a Python line that native code called ends there too, and in a handler": (
        "finish",
        None,
        ground(stack=IN_CALLBACK, attachment=Attachment.ATTACHED, caller=CALLER),
        NativePlan(
            THREAD,
            arm="finish",
            must_arm=True,
            places=StopPoints(returns=(CALLER,), catches=2),
            step=Step("finish", TID, THREAD, origin=PYTHON),
        ),
    ),
    "a Python line is debugpy's": (
        "until",
        None,
        ground(stack=ON_PYTHON_LINE, attachment=Attachment.ATTACHED, caller=None),
        NativePlan(THREAD, arm="next", must_arm=True, step=Step("until", TID, THREAD, origin=PYTHON)),
    ),
    "step on a Python line enters native code": (
        "step",
        None,
        ground(
            stack=ON_PYTHON_LINE,
            attachment=Attachment.ATTACHED,
            caller=None,
        ),
        NativePlan(
            THREAD,
            arm="step",
            must_arm=True,
            step=Step("step", TID, THREAD, origin=PYTHON),
        ),
    ),
}


@pytest.mark.parametrize("row", NATIVE_PLANS.values(), ids=NATIVE_PLANS.keys())
def test_a_step_from_a_native_stop(
    row: tuple[str, int | None, NativeGround, NativePlan | GroundFact],
) -> None:
    kind, chosen, known, plan = row
    assert plan_native_step(kind, chosen, known) == plan


def test_a_thread_without_the_gil_cannot_be_stepped_on_a_python_line() -> None:
    with pytest.raises(WrongState, match="does not hold the GIL"):
        plan_native_step("next", None, ground(stack=ON_PYTHON_LINE, attachment=Attachment.WITHOUT_GIL))


CONTINUES: dict[str, tuple[NativeGround, NativePlan | GroundFact]] = {
    "what debugpy has not heard comes first": (NativeGround(TID, STOP), GroundFact.UNHEARD),
    "nothing else is read when it has heard all": (NativeGround(TID, STOP, unheard=None), NativePlan()),
    "the thread": (NativeGround(TID, STOP, unheard=7), GroundFact.THREAD),
    "the stack": (ground(unheard=7), GroundFact.STACK),
    "on a Python line the GIL decides": (ground(unheard=7, stack=ON_PYTHON_LINE), GroundFact.GIL),
    "with it the thread waits": (
        ground(unheard=7, stack=ON_PYTHON_LINE, attachment=Attachment.ATTACHED),
        NativePlan(THREAD, hear=7),
    ),
    "without it the thread runs": (
        ground(unheard=7, stack=ON_PYTHON_LINE, attachment=Attachment.WITHOUT_GIL),
        NativePlan(),
    ),
    "in native code it must be sound": (ground(unheard=7, stack=IN_C), GroundFact.SOUND),
    "the thread waits where that is sound": (
        ground(unheard=7, stack=IN_C, is_sound=True),
        NativePlan(THREAD, hear=7),
    ),
    "else where it is back in Python": (ground(unheard=7, stack=IN_C, is_sound=False), GroundFact.EXIT),
    "it lands there": (
        ground(unheard=7, stack=IN_C, is_sound=False, exit=LOOP),
        NativePlan(THREAD, places=StopPoints(returns=(LOOP,)), step=Step(CONTINUE, TID, THREAD)),
    ),
    "or nowhere": (ground(unheard=7, stack=IN_C, is_sound=False, exit=None), NativePlan()),
}


@pytest.mark.parametrize("row", CONTINUES.values(), ids=CONTINUES.keys())
def test_continue_from_a_native_stop(row: tuple[NativeGround, NativePlan | GroundFact]) -> None:
    known, plan = row
    assert plan_continue(known) == plan


HOLD = PythonHold(PythonStopped(PythonCause.BREAKPOINT, 5), TID, depth=2, top=PYTHON)
PYTHON_STEP = Step("next", TID, THREAD, origin=PYTHON, depth=2)


def python_ground(**known: Any) -> PythonGround:
    return PythonGround(TID, THREAD, HOLD, **known)


PYTHON_PLANS: dict[str, tuple[str, int | None, PythonGround, PythonPlan | GroundFact]] = {
    "next asks whether C code may have called the function": (
        "next",
        None,
        python_ground(),
        GroundFact.CALLED,
    ),
    "next where it has not": (
        "next",
        None,
        python_ground(called=False),
        PythonPlan(hold=HOLD, request="next", thread=5, step=PYTHON_STEP),
    ),
    "next asks whether the line may return": (
        "next",
        None,
        python_ground(called=True),
        GroundFact.MAY_RETURN,
    ),
    "next waits for exceptions that debugpy does not see": (
        "next",
        None,
        python_ground(called=True, may_return=False, unseen=3),
        PythonPlan(places=StopPoints(catches=3), hold=HOLD, request="next", thread=5, step=PYTHON_STEP),
    ),
    "next on a line in the middle": (
        "next",
        None,
        python_ground(called=True, may_return=False),
        PythonPlan(hold=HOLD, request="next", thread=5, step=PYTHON_STEP),
    ),
    "a line that may return asks for the caller": (
        "next",
        None,
        python_ground(called=True, may_return=True),
        GroundFact.CALLER,
    ),
    "finish returns in any case": ("finish", None, python_ground(called=True), GroundFact.CALLER),
    "gdb is at the native caller": (
        "finish",
        None,
        python_ground(called=True, caller=CALLER),
        PythonPlan(
            places=StopPoints(returns=(CALLER,)),
            hold=HOLD,
            request="stepOut",
            thread=5,
            step=replace(PYTHON_STEP, kind="finish"),
        ),
    ),
    "step watches the line": (
        "step",
        3,
        python_ground(called=False),
        PythonPlan(
            watch=Watch.BEGIN,
            hold=HOLD,
            request="stepIn",
            thread=5,
            target=3,
            step=replace(PYTHON_STEP, kind="step"),
        ),
    ),
    "until is debugpy's next": (
        "until",
        None,
        python_ground(called=True, caller=None),
        PythonPlan(hold=HOLD, request="next", thread=5, step=replace(PYTHON_STEP, kind="until")),
    ),
}


@pytest.mark.parametrize("row", PYTHON_PLANS.values(), ids=PYTHON_PLANS.keys())
def test_a_step_from_a_python_stop(
    row: tuple[str, int | None, PythonGround, PythonPlan | GroundFact],
) -> None:
    kind, target, known, plan = row
    assert plan_python_step(kind, target, known) == plan


def test_goto_leaves_the_watch_as_it_is() -> None:
    moved = PythonPlan(watch=Watch.AS_IT_IS, request="goto", target=4, may_be_refused=True)
    assert plan_goto(4) == moved


def test_a_native_goto_jumps_and_stops_there() -> None:
    ground = NativeGround(TID, STOP)
    assert plan_native_goto(0x400, ground) is GroundFact.THREAD
    ground.gdb_thread = THREAD
    step = Step("goto", TID, THREAD)
    places = StopPoints(moved_to=0x400)
    assert plan_native_goto(0x400, ground) == NativePlan(THREAD, places=places, move=Move.JUMP, step=step)
