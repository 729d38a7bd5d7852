"""Whether a step ends at a stop, as a function of what is known: each row is a stop within a step. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dualdbg.backends.events import NativeStopped, StopCause
from dualdbg.backends.native import Move
from dualdbg.model import NativeFrame, PythonFrame, Role, Stack
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
from dualdbg.session.stepping.step import CONTINUE, Step
from dualdbg.session.stepping.stop_points import FunctionCalls, Momentary, StopPoints
from tests.session.step_places import (
    BELOW,
    CALLER,
    CALLS,
    IN_C,
    LINE,
    LOOP,
    NATIVE_STEP,
    OUTER_PAD,
    PAD,
    PYTHON,
    QSORT,
    THREAD,
    TID,
    stack,
)


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
OUTER = replace(CALLER, sp=96)  # of the function that called the stepped one
VECTOR = NativeFrame(0, 0x710, "std::vector::data", file="/usr/include/c++/12/vector", line=5, sp=8)
INCREF = NativeFrame(
    0, 0x720, "Py_INCREF", file="/usr/include/python3.11/object.h", line=5, sp=16, inlined=True
)

BEGIN_CATCH = NativeFrame(
    0, 0x800, "__cxa_begin_catch", library="/usr/lib/x86_64-linux-gnu/libstdc++.so.6", sp=8
)

STEP_IN = replace(BELOW, kind="step")
HEADER = NativeFrame(0, 0x710, "std::move", file="/usr/include/c++/move.h", line=5)

INLINED = replace(LINE, function="inlined", inlined=True)


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
    "step in the C++ library, into which code of the user may have been put": (
        arrival(STEPPED, STEP_IN, stack=stack(VECTOR, CALLER), momentary=Momentary(has_bodies=True)),
        Outcome(False, again=Move.STEP),
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
    "next in a function of the user that was inlined into the line": (
        arrival(STEPPED, BELOW, stack=stack(INLINED, replace(LINE, level=1), CALLER)),
        Outcome(False, again=Move.NEXT),
    ),
    "step in a function of the user that was inlined into the line": (
        arrival(STEPPED, STEP_IN, stack=stack(INLINED, replace(LINE, level=1), CALLER)),
        ENDS,
    ),
    "next out of an inlined function, to one that the same function calls": (
        arrival(
            STEPPED,
            replace(BELOW, top=replace(INLINED, function="h"), within=("f", "h")),
            stack=stack(INLINED, replace(LINE, level=1), CALLER),
        ),
        ENDS,
    ),
    "next, and a handler has the exception: whose?": (arrival(hit(LANDED), BELOW), ArrivalFact.STACK),
    "next, and a handler of the function has the exception": (
        arrival(hit(LANDED), BELOW, stack=IN_C),
        ENDS,
    ),
    "next, and a handler has it in a function that was inlined into the line": (
        arrival(hit(LANDED), BELOW, stack=stack(INLINED, replace(LINE, level=1), CALLER)),
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
            stack=stack(replace(QSORT, sp=64), OUTER),
            momentary=Momentary(landings={LANDED}),
        ),
        GOES_ON,
    ),
    "step in what the function has jumped to, without a frame of its own": (
        arrival(
            STEPPED,
            STEP_IN,
            stack=stack(replace(QSORT, sp=64), CALLER),
            momentary=Momentary(landings={LANDED}),
        ),
        Outcome(False, StopPoints(bodies=CALLER.pc, detour=CALLER)),
    ),
    "step by lines, on another row of the function, from which control comes to no other line": (
        arrival(
            STEPPED,
            STEP_IN,
            stack=stack(replace(LINE, line=4), CALLER),
            momentary=Momentary(landings={LANDED}, by_lines=True),
        ),
        THE_REST,
    ),
    "next on a line of Python's headers in the function itself": (
        arrival(STEPPED, BELOW, stack=stack(replace(LINE, file="/opt/include/python3.11/object.h"), CALLER)),
        Outcome(False, again=Move.NEXT),
    ),
    "next on a line of the system's Python's headers in the function itself": (
        arrival(STEPPED, BELOW, stack=stack(replace(LINE, file=INCREF.file), CALLER)),
        Outcome(False, again=Move.NEXT),
    ),
    "step in the C library with lines": (
        arrival(STEPPED, STEP_IN, stack=stack(replace(QSORT, sp=8), CALLER), momentary=Momentary()),
        Outcome(False, StopPoints(bodies=CALLER.pc, detour=CALLER)),
    ),
    "step out of the function, into a binding layer": (
        arrival(STEPPED, STEP_IN, stack=stack(replace(GLUE, sp=64), OUTER), momentary=Momentary()),
        Outcome(False, StopPoints(bodies=0x700)),
    ),
    "next back in the C library, and there is a landing": (
        arrival(
            STEPPED, BELOW, stack=stack(replace(QSORT, sp=64), OUTER), momentary=Momentary(landings={LANDED})
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
