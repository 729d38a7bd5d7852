"""How a step begins and where it ends, as functions of what is known: each row is a place, or a stop. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dualdbg.backends.events import NativeStopped, PythonCause, PythonStopped, StopCause
from dualdbg.backends.native import Move
from dualdbg.errors import WrongState
from dualdbg.model import Language, NativeFrame, PythonFrame, Quality, Reason, Role, Stack, Stop, Thread
from dualdbg.session.stepping.arrival import (
    ENDS,
    GOES_ON,
    THE_REST,
    UNRELATED,
    Arrival,
    ArrivalFact,
    Outcome,
    is_done_too,
    outcome,
)
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
from dualdbg.session.stepping.stop_points import FunctionCalls, Left, Momentary, Pad, StopPoints
from dualdbg.session.stops.facts import PythonHold

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
BELOW = replace(NATIVE_STEP, end=CALLER.sp)  # the caller of the function that was left is known
PAD = Pad(0x130, CALLER.sp or 0, 0, 0, is_cxx=True)
OUTER_PAD = Pad(0x1B0, 128, 1, 1, is_cxx=False)
SHARED_PAD = Pad(0x1B0, 128, 0, 1, is_cxx=True)


# -- leaving a native stop ------------------------------------------------------------------------

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
            step=replace(BELOW, kind="finish", top=replace(LINE, inlined=True), end=LOOP.sp),
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
        NativePlan(THREAD, move=Move.FINISH, step=replace(NATIVE_STEP, kind="finish")),
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
        ground(stack=IN_CALLBACK, holds_gil=True),
        GroundFact.CALLER,
    ),
    "a Python line that native code called ends there too, and in a handler": (
        "finish",
        None,
        ground(stack=IN_CALLBACK, holds_gil=True, caller=CALLER),
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
        ground(stack=ON_PYTHON_LINE, holds_gil=True, caller=None),
        NativePlan(THREAD, arm="next", must_arm=True, step=Step("until", TID, THREAD, origin=PYTHON)),
    ),
    "step on a Python line enters native code": (
        "step",
        None,
        ground(stack=ON_PYTHON_LINE, holds_gil=True, caller=None, watched=(0x400,), calls_operator=True),
        NativePlan(
            THREAD,
            arm="step",
            must_arm=True,
            places=StopPoints(entries=(0x400,), operators=True),
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
        plan_native_step("next", None, ground(stack=ON_PYTHON_LINE, holds_gil=False))


CONTINUES: dict[str, tuple[NativeGround, NativePlan | GroundFact]] = {
    "what debugpy has not heard comes first": (NativeGround(TID, STOP), GroundFact.UNHEARD),
    "nothing else is read when it has heard all": (NativeGround(TID, STOP, unheard=None), NativePlan()),
    "the thread": (NativeGround(TID, STOP, unheard=7), GroundFact.THREAD),
    "the stack": (ground(unheard=7), GroundFact.STACK),
    "on a Python line the GIL decides": (ground(unheard=7, stack=ON_PYTHON_LINE), GroundFact.GIL),
    "with it the thread waits": (
        ground(unheard=7, stack=ON_PYTHON_LINE, holds_gil=True),
        NativePlan(THREAD, hear=7),
    ),
    "without it the thread runs": (ground(unheard=7, stack=ON_PYTHON_LINE, holds_gil=False), NativePlan()),
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


# -- leaving a Python stop ------------------------------------------------------------------------

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


# -- arriving ---------------------------------------------------------------------------------------


def hit(number: int | None = 7, thread: int = THREAD, pc: int = 0x400) -> NativeStopped:
    return NativeStopped(StopCause.BREAKPOINT, TID, thread, pc, number)


STEPPED = NativeStopped(StopCause.STEPPED, TID, THREAD, 0x100)
FROM_PYTHON = Step("step", TID, THREAD, origin=PYTHON)
ENTRY, SITE, CALLEE, CHOSEN, LANDED, BACK, CAUGHT, CAUGHT_ELSEWHERE, CATCH, ANY_CATCH, CAUGHT_MUTELY = range(
    21, 32
)
SET = Momentary(
    landings={LANDED},
    detours={BACK: 3},
    pads={CAUGHT: PAD, CAUGHT_ELSEWHERE: OUTER_PAD, CAUGHT_MUTELY: replace(OUTER_PAD, is_mute=True)},
    catches={CATCH},
    all_catches={ANY_CATCH: 2},
    entries={ENTRY: 0x400},
    calls=CALLS,
    callees={CALLEE},
    sites={SITE},
    chosen={CHOSEN},
)
GLUE = NativeFrame(0, 0x700, "dispatcher", file="/pybind11.h", line=5, role=Role.GLUE)
DEEP_GLUE = replace(GLUE, sp=8)
VECTOR = NativeFrame(0, 0x710, "std::vector::data", file="/usr/include/c++/12/vector", line=5, sp=8)
INCREF = NativeFrame(
    0, 0x720, "Py_INCREF", file="/usr/include/python3.11/object.h", line=5, sp=16, inlined=True
)
BEGIN_CATCH = NativeFrame(
    0, 0x800, "__cxa_begin_catch", library="/usr/lib/x86_64-linux-gnu/libstdc++.so.6", sp=8
)
STEP_IN = replace(BELOW, kind="step")
HEADER = NativeFrame(0, 0x710, "std::move", file="/usr/include/c++/move.h", line=5)


def arrival(stop: NativeStopped, step: Step | None = FROM_PYTHON, **known: Any) -> Arrival:
    return Arrival(stop, step, known.pop("momentary", SET), beacon=9, **known)


def called_by(frame: PythonFrame, top: NativeFrame = LINE) -> Stack:
    return stack(top, LOOP, frame)


OTHER_LINE = replace(PYTHON, line=8)
OUTCOMES: dict[str, tuple[Arrival, Outcome | ArrivalFact]] = {
    "the beacon announces": (arrival(hit(9)), ArrivalFact.ANNOUNCED),
    "a breakpoint goes to what it announced": (
        arrival(hit(9), announced=0x440),
        Outcome(False, StopPoints(entries=(0x440,))),
    ),
    "a beacon without a step": (arrival(hit(9), step=None), GOES_ON),
    "no step, nothing to do with it": (arrival(hit(), step=None), UNRELATED),
    "a breakpoint of the user": (arrival(hit()), UNRELATED),
    "an entry of another thread": (arrival(hit(ENTRY, thread=2)), GOES_ON),
    "an entry: who called it?": (arrival(hit(ENTRY)), ArrivalFact.STACK),
    "an entry that another line called": (arrival(hit(ENTRY), stack=called_by(OTHER_LINE)), GOES_ON),
    "an entry: is it a binding?": (arrival(hit(ENTRY), stack=called_by(PYTHON)), ArrivalFact.BEHIND),
    "a binding of PyTorch": (
        arrival(hit(ENTRY), stack=called_by(PYTHON), behind=(0x800,)),
        Outcome(False, StopPoints(exact=(0x800,))),
    ),
    "the user's function": (arrival(hit(ENTRY), stack=called_by(PYTHON), behind=()), ENDS),
    "a binding layer with lines": (
        arrival(hit(ENTRY), stack=called_by(PYTHON, GLUE), behind=()),
        Outcome(False, StopPoints(bodies=0x700)),
    ),
    "a binding layer whose functions are known": (
        arrival(
            hit(ENTRY), stack=called_by(PYTHON, GLUE), behind=(), momentary=replace(SET, has_bodies=True)
        ),
        GOES_ON,
    ),
    "a call through a pointer": (arrival(hit(SITE)), ArrivalFact.POINTED_TO),
    "to a function of interest": (
        arrival(hit(SITE), pointed_to=0x340),
        Outcome(False, StopPoints(calls=FunctionCalls(0x100, 0x140, callees=(0x340,)))),
    ),
    "to another": (arrival(hit(SITE), pointed_to=None), GOES_ON),
    "a callee: who called it?": (arrival(hit(CALLEE)), ArrivalFact.CALLED_FROM),
    "a callee of the function": (arrival(hit(CALLEE), called_from=0x118), ENDS),
    "a callee that another function called": (arrival(hit(CALLEE), called_from=0x999), GOES_ON),
    "a callee in another thread": (arrival(hit(CALLEE, thread=2)), GOES_ON),
    "the chosen function": (arrival(hit(CHOSEN)), ENDS),
    "the chosen function in another thread": (arrival(hit(CHOSEN, thread=2)), GOES_ON),
    "a landing": (arrival(hit(LANDED)), ENDS),
    "a landing in another thread": (arrival(hit(LANDED, thread=2)), GOES_ON),
    "a landing of a thread that continues": (
        arrival(hit(LANDED), Step(CONTINUE, TID, THREAD)),
        Outcome(False, is_there=True),
    ),
    "the beacon in a native step": (arrival(hit(9), NATIVE_STEP), GOES_ON),
    "the beacon in a next": (arrival(hit(9), replace(FROM_PYTHON, kind="next")), GOES_ON),
    "an exception is caught: how deep?": (arrival(hit(CAUGHT), NATIVE_STEP), ArrivalFact.POINTER),
    "its handler is waited for": (
        arrival(hit(CAUGHT), NATIVE_STEP, pointer=48),
        Outcome(False, StopPoints(catch=NativeFrame(0, PAD.address, sp=48))),
    ),
    "a handler that is not C++'s": (arrival(hit(CAUGHT_ELSEWHERE), NATIVE_STEP), ENDS),
    "a panic is caught: by whom?": (arrival(hit(CAUGHT_MUTELY), NATIVE_STEP), ArrivalFact.STACK),
    "a panic is caught by the user's function": (
        arrival(hit(CAUGHT_MUTELY), NATIVE_STEP, stack=IN_C),
        ENDS,
    ),
    "a panic is caught by Rust's library for the user's function": (
        arrival(hit(CAUGHT_MUTELY), NATIVE_STEP, stack=stack(DEEP_GLUE, CALLER, LOOP, PYTHON)),
        Outcome(False, StopPoints(returns=(CALLER,))),
    ),
    "a panic is caught by a binding layer": (
        arrival(hit(CAUGHT_MUTELY), NATIVE_STEP, stack=stack(DEEP_GLUE, LOOP, PYTHON)),
        GOES_ON,
    ),
    "a handler begins: who calls?": (arrival(hit(CATCH), NATIVE_STEP), ArrivalFact.CALLER),
    "the step ends where it has the exception": (
        arrival(hit(CATCH), NATIVE_STEP, caller=CALLER),
        Outcome(False, StopPoints(returns=(CALLER,))),
    ),
    "any handler: on what stack?": (arrival(hit(ANY_CATCH)), ArrivalFact.STACK),
    "a handler within the Python function": (
        arrival(hit(ANY_CATCH), stack=stack(BEGIN_CATCH, CALLER, LOOP, PYTHON, PYTHON)),
        GOES_ON,
    ),
    "a handler of a binding layer": (
        arrival(hit(ANY_CATCH), stack=stack(BEGIN_CATCH, GLUE, LOOP, PYTHON)),
        GOES_ON,
    ),
    "a handler of the user that has caught Python's exception": (
        arrival(hit(ANY_CATCH), stack=stack(BEGIN_CATCH, CALLER, LOOP, PYTHON), caller=CALLER),
        Outcome(False, StopPoints(returns=(CALLER,))),
    ),
    "back from other code: on which line?": (arrival(hit(BACK), STEP_IN), ArrivalFact.STACK),
    "back on the line that is stepped": (
        arrival(hit(BACK), STEP_IN, stack=IN_C),
        THE_REST,
    ),
    "back in what was inlined into the line": (
        arrival(hit(BACK), STEP_IN, stack=stack(INCREF, CALLER)),
        THE_REST,
    ),
    "back where the next line begins": (
        arrival(hit(BACK), STEP_IN, stack=stack(replace(LINE, line=4), CALLER)),
        ENDS,
    ),
    "the same in another thread": (arrival(hit(BACK, thread=2), STEP_IN), GOES_ON),
    "gdb ended a source step": (arrival(STEPPED), ArrivalFact.STACK),
    "in the user's code": (arrival(STEPPED, NATIVE_STEP, stack=IN_C), ENDS),
    "step in a binding layer that the function called": (
        arrival(STEPPED, STEP_IN, stack=stack(DEEP_GLUE, CALLER), momentary=Momentary()),
        Outcome(False, StopPoints(bodies=CALLER.pc, detour=CALLER)),
    ),
    "next on a line of the C++ library in the function itself": (
        arrival(STEPPED, BELOW, stack=stack(replace(LINE, file=VECTOR.file), CALLER)),
        Outcome(False, again=Move.NEXT),
    ),
    "next on the same line again, behind what was inlined into it": (
        arrival(STEPPED, BELOW, stack=IN_C),
        Outcome(False, again=Move.NEXT),
    ),
    "step on the same line of a deeper call": (
        arrival(STEPPED, STEP_IN, stack=stack(LINE, LINE, CALLER)),
        ENDS,
    ),
    "step in the C++ library": (
        arrival(STEPPED, STEP_IN, stack=stack(VECTOR, CALLER), momentary=Momentary(has_bodies=True)),
        Outcome(False, StopPoints(detour=CALLER)),
    ),
    "next out of an inlined function, to a line of the C++ library": (
        arrival(
            STEPPED,
            replace(BELOW, top=replace(LINE, function="h", inlined=True)),
            stack=stack(replace(LINE, file="/usr/include/c++/12/vector"), CALLER),
        ),
        Outcome(False, again=Move.NEXT),
    ),
    "next to a function of the C++ library, inlined": (
        arrival(STEPPED, BELOW, stack=stack(replace(VECTOR, inlined=True), replace(LINE, level=1), CALLER)),
        Outcome(False, again=Move.NEXT),
    ),
    "step in a binding layer, into the C library": (
        arrival(
            STEPPED,
            replace(STEP_IN, top=replace(GLUE, sp=16, library="/x.so")),
            stack=stack(replace(QSORT, sp=8), replace(GLUE, level=1, sp=16), replace(CALLER, level=2)),
            momentary=Momentary(has_bodies=True),
        ),
        Outcome(False, StopPoints(detour=replace(GLUE, level=1, sp=16))),
    ),
    "step in Python.h, inlined, on a line of the source": (
        arrival(STEPPED, STEP_IN, stack=stack(replace(INCREF, file="/x.c"), CALLER), momentary=Momentary()),
        THE_REST,
    ),
    "step in Python.h, inlined": (
        arrival(STEPPED, STEP_IN, stack=stack(INCREF, CALLER), momentary=Momentary()),
        THE_REST,
    ),
    "step out of the function, into the C library": (
        arrival(
            STEPPED,
            STEP_IN,
            stack=stack(replace(QSORT, sp=64), CALLER),
            momentary=Momentary(landings={LANDED}),
        ),
        GOES_ON,
    ),
    "step in the C library with lines": (
        arrival(STEPPED, STEP_IN, stack=stack(replace(QSORT, sp=8), CALLER), momentary=Momentary()),
        Outcome(False, StopPoints(bodies=CALLER.pc, detour=CALLER)),
    ),
    "step out of the function, into a binding layer": (
        arrival(STEPPED, STEP_IN, stack=stack(replace(GLUE, sp=64), CALLER), momentary=Momentary()),
        Outcome(False, StopPoints(bodies=0x700)),
    ),
    "next back in the C library, and there is a landing": (
        arrival(
            STEPPED, BELOW, stack=stack(replace(QSORT, sp=64), CALLER), momentary=Momentary(landings={LANDED})
        ),
        GOES_ON,
    ),
    "next left the function, and there is a landing": (
        arrival(STEPPED, NATIVE_STEP, stack=stack(GLUE, CALLER), momentary=Momentary(landings={LANDED})),
        GOES_ON,
    ),
    "next left the function, and there is none": (
        arrival(STEPPED, NATIVE_STEP, stack=stack(GLUE, CALLER), momentary=Momentary()),
        ENDS,
    ),
    "among a compiler's own lines: the same once more": (
        arrival(STEPPED, NATIVE_STEP, stack=stack(replace(LINE, between=True), CALLER)),
        Outcome(False, again=Move.NEXT),
    ),
    "in a header on the way from Python": (
        arrival(STEPPED, stack=stack(HEADER, CALLER)),
        Outcome(False, StopPoints(bodies=0x710)),
    ),
}


@pytest.mark.parametrize("row", OUTCOMES.values(), ids=OUTCOMES.keys())
def test_a_stop_within_a_step(row: tuple[Arrival, Outcome | ArrivalFact]) -> None:
    what, decided = row
    assert outcome(what) == decided


DONE: dict[str, tuple[Arrival, bool | ArrivalFact]] = {
    "no step": (arrival(hit(), step=None), False),
    "another thread": (arrival(hit(thread=2)), False),
    "the user's breakpoint where the step was to end": (arrival(hit()), ArrivalFact.STACK),
    "called by the line": (arrival(hit(), stack=called_by(PYTHON), behind=()), True),
    "called by another line": (arrival(hit(), stack=called_by(OTHER_LINE)), False),
    "a step of Python that ends elsewhere": (arrival(hit(pc=0x999)), False),
    "next: how deep?": (arrival(hit(pc=0x999), NATIVE_STEP), ArrivalFact.POINTER),
    "next in the same function": (arrival(hit(pc=0x999), NATIVE_STEP, pointer=16), True),
    "next in a function that it calls": (arrival(hit(pc=0x999), NATIVE_STEP, pointer=8), False),
}


@pytest.mark.parametrize("row", DONE.values(), ids=DONE.keys())
def test_another_stop_where_the_step_would_have_ended(row: tuple[Arrival, bool | ArrivalFact]) -> None:
    what, done = row
    assert is_done_too(what) == done
