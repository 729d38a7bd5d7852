"""Decides whether a native stop ends the step under way, and what the step sets to go on. Pure.

The decision is made from facts that were read before. Facts cost requests to an engine, so each function returns the
decision, or the one fact that it needs next. Who reads the facts is in ``step_ends.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ...backends import events as engine
from ...backends.events import StopCause
from ...backends.native import Move
from ...model import NativeFrame, PythonFrame, Role, Stack
from ...stacks.roles import is_stub
from ...toolchains.registry import GLUE_SOURCES, toolchain_of
from ..stops.facts import UNREAD, Unread
from .step import CONTINUE, NATIVE_MOVES, Step
from .step_frames import (
    calls_operators,
    direct_caller,
    frame_that_ends,
    functions_within,
    handler_frame,
    innermost_native,
    is_between,
    is_foreign,
    is_header,
    is_inlined_in_users,
    is_of_python,
    is_of_system,
    native_caller,
    same_line,
    user_below,
)
from .stop_points import NOWHERE, FunctionCalls, Momentary, Pad, StopPoints
from .unfinished import native_step_done

_OVER = ("next", "until")  # steps that do not enter what the function calls
_DONE = {StopCause.STEPPED, StopCause.RETURNED, StopCause.UNSAID}


class ArrivalFact(Enum):
    """A fact about a stop within a step. The decision asks for one at a time."""

    ANNOUNCED = "announced"
    STACK = "stack"
    BEHIND = "behind"
    POINTER = "pointer"
    POINTED_TO = "pointed to"
    CALLED_FROM = "called from"
    CALLER = "caller"


@dataclass
class Arrival:
    """A native stop within ``step``, and what has been read about it so far.

    ``momentary``: the breakpoints of the step. ``beacon``: gdb's number of the breakpoint by which the watch over a
    Python line announces a call. Then the facts that cost something:

    ``announced``: the address that the watch announces. ``stack``: that of the thread of the step. ``behind``: where
    the layer of PyTorch begins that the user wants to see, behind the binding at which the thread stands; empty where
    it stands in no binding, or already there. ``pointer``: the stack pointer. ``pointed_to``: the function of interest
    to which a call through a pointer goes. ``called_from``: the return address at the entry of a function; ``caller``:
    that and the stack pointer behind it.
    """

    stop: engine.NativeStopped
    step: Step | None
    momentary: Momentary = field(default_factory=Momentary)
    beacon: int | None = None
    announced: int | Unread = UNREAD
    stack: Stack | Unread = UNREAD
    behind: tuple[int, ...] | Unread = UNREAD
    pointer: int | Unread = UNREAD
    pointed_to: int | Unread | None = UNREAD
    called_from: int | Unread = UNREAD
    caller: NativeFrame | Unread = UNREAD

    @property
    def is_of_step(self) -> bool:
        """Whether the stop is in the thread of the step."""
        return self.step is not None and self.stop.gdb_thread == self.step.gdb_thread

    @property
    def top(self) -> NativeFrame | None:
        """The innermost frame, where it is native; to be asked once the stack was read."""
        assert not isinstance(self.stack, Unread)
        return innermost_native(self.stack)


@dataclass(frozen=True)
class Outcome:
    """What a stop means for the step under way.

    ``ends``: whether the step ends here; None when the stop has nothing to do with the step. ``places``: what is set
    before the target runs on. ``is_there``: a thread that just continues has reached the place where it has something
    to do. ``again``: the step that gdb makes from here, for a stop that is passed over ends gdb's own.
    """

    ends: bool | None
    places: StopPoints = NOWHERE
    is_there: bool = False
    again: Move | None = None


UNRELATED = Outcome(None)
GOES_ON = Outcome(False)
ENDS = Outcome(True)
THE_REST = Outcome(False, again=Move.STEP)  # of the line


def outcome(arrival: Arrival) -> Outcome | ArrivalFact:
    """Whether a native stop ends the step under way."""
    step, momentary, number = arrival.step, arrival.momentary, arrival.stop.gdb_breakpoint
    if number is not None and number == arrival.beacon:
        if step is None or not step.watches:
            return GOES_ON
        if arrival.announced is UNREAD:
            return ArrivalFact.ANNOUNCED
        return Outcome(False, StopPoints(entries=(arrival.announced,)))
    if step is None:
        return UNRELATED
    if number in momentary.entries:
        return entered(arrival)
    if momentary.calls is not None and number is not None and number in momentary.callees | momentary.sites:
        return _call_reached(arrival, momentary.calls)
    if number in momentary.chosen:
        return ENDS if arrival.is_of_step else GOES_ON
    if number is not None and number in momentary.landings:
        return _landed(arrival, step)
    if number is not None and number in momentary.lines:
        return _other_line_reached(arrival)
    if number is not None and number in momentary.detours:
        return _back_on_line(arrival, step, momentary.detours[number])
    if number is not None and number in momentary.pads:
        return _caught(arrival, momentary.pads[number])
    if number is not None and number in momentary.catches:
        return _handler_begins(arrival)
    if number is not None and number in momentary.all_catches:
        return _left_python(arrival, momentary.all_catches[number]) or _handler_begins(arrival)
    if arrival.stop.cause in _DONE:
        return _line_reached(arrival, step)
    return UNRELATED


def is_done_too(arrival: Arrival) -> bool | ArrivalFact:
    """Whether the step would have ended here too, at a stop that is shown for another reason."""
    step, stop = arrival.step, arrival.stop
    if step is None or not arrival.is_of_step:
        return False
    if stop.gdb_breakpoint is not None and stop.pc in arrival.momentary.entries.values():
        # A breakpoint of the user where the step was to end.
        found = entered(arrival)
        return found if isinstance(found, ArrivalFact) else bool(found.ends)
    if step.top is None:
        return False
    if arrival.pointer is UNREAD:
        return ArrivalFact.POINTER
    return native_step_done(step.kind, step.top, arrival.pointer)


def entered(arrival: Arrival) -> Outcome | ArrivalFact:
    """Native code was entered. That counts when the Python line that was left called it itself."""
    if arrival.step is None or not arrival.is_of_step:
        return GOES_ON
    if arrival.stack is UNREAD:
        return ArrivalFact.STACK
    python = (frame for frame in arrival.stack.visible() if isinstance(frame, PythonFrame))
    caller = next((frame for frame in python if not calls_operators(frame)), None)
    origin = arrival.step.origin
    if origin is not None and caller is not None and not same_line(caller, origin):
        return GOES_ON
    if arrival.top is not None:
        if arrival.behind is UNREAD:
            return ArrivalFact.BEHIND
        if arrival.behind:
            return Outcome(False, StopPoints(exact=arrival.behind))
    return _through_glue(arrival) or ENDS


def _through_glue(arrival: Arrival) -> Outcome | None:
    """In a binding layer with debug info the step goes on to the user's code that it calls. None elsewhere."""
    top = arrival.top
    if top is None or top.line is None:
        return None
    if top.role is not Role.GLUE and not is_header(top):
        return None
    assert not isinstance(arrival.stack, Unread)
    if is_inlined_in_users(arrival.stack):
        return None
    return GOES_ON if arrival.momentary.has_bodies else Outcome(False, StopPoints(bodies=top.pc))


def _call_reached(arrival: Arrival, calls: FunctionCalls) -> Outcome | ArrivalFact:
    """A call of the function without debug info, or the function that it calls: that one ends the step."""
    if not arrival.is_of_step:
        return GOES_ON
    if arrival.stop.gdb_breakpoint in arrival.momentary.sites:
        if arrival.pointed_to is UNREAD:
            return ArrivalFact.POINTED_TO
        if arrival.pointed_to is None:
            return GOES_ON
        followed = FunctionCalls(calls.start, calls.end, callees=(arrival.pointed_to,))
        return Outcome(False, StopPoints(calls=followed))
    if arrival.called_from is UNREAD:
        return ArrivalFact.CALLED_FROM
    return ENDS if calls.start <= arrival.called_from <= calls.end else GOES_ON


def _landed(arrival: Arrival, step: Step) -> Outcome | ArrivalFact:
    """Native code has returned, or a handler has its exception. It counts in the thread of the step only."""
    if not arrival.is_of_step:
        return GOES_ON
    if step.kind == CONTINUE:
        return Outcome(False, is_there=True)
    if step.kind not in _OVER or not step.within:
        return ENDS
    if arrival.stack is UNREAD:
        return ArrivalFact.STACK
    return Outcome(False, again=NATIVE_MOVES[step.kind]) if _is_in_callee(arrival, step) else ENDS


def _other_line_reached(arrival: Arrival) -> Outcome | ArrivalFact:
    """Control has come to another line of the author's function."""
    if not arrival.is_of_step:
        return GOES_ON
    return ENDS if arrival.stack is not UNREAD else ArrivalFact.STACK


def _back_on_line(arrival: Arrival, step: Step, line: int | None) -> Outcome | ArrivalFact:
    """Other code has returned to the line that is stepped. Its call may have been the last instruction of that."""
    if not arrival.is_of_step:
        return GOES_ON
    if arrival.stack is UNREAD:
        return ArrivalFact.STACK
    top = arrival.top
    if arrival.momentary.by_lines:
        return THE_REST
    if top is not None and top.inlined and is_between(top) and user_below(arrival.stack) is not None:
        return THE_REST  # in a library's code that was inlined into the line
    if top is not None and _is_within_line(arrival, top, step):
        return THE_REST
    return ENDS if top is None or top.line != line else THE_REST


def _caught(arrival: Arrival, pad: Pad) -> Outcome | ArrivalFact:
    """An exception has reached a frame that catches it. In C++ destructors run before the handler begins."""
    if not pad.is_cxx:
        return _caught_by_rust(arrival) if pad.is_mute else ENDS
    if arrival.pointer is UNREAD:
        return ArrivalFact.POINTER
    return Outcome(False, StopPoints(catch=NativeFrame(0, pad.address, sp=arrival.pointer)))


def _caught_by_rust(arrival: Arrival) -> Outcome | ArrivalFact:
    """A panic is caught. Where it is Rust's library that does, the step ends in the user's function that called it.

    What PyO3 catches becomes an exception of Python's.
    """
    if arrival.stack is UNREAD:
        return ArrivalFact.STACK
    top = arrival.top
    if top is None or not is_between(top) or is_inlined_in_users(arrival.stack):
        return ENDS
    caller = native_caller(arrival.stack)
    return GOES_ON if caller is None else Outcome(False, StopPoints(returns=(caller,)))


def _left_python(arrival: Arrival, before: int) -> Outcome | ArrivalFact | None:
    """A handler in a step that left a Python line. None where it is the user's, and outside of the Python function."""
    if arrival.stack is UNREAD:
        return ArrivalFact.STACK
    frames = sum(isinstance(frame, PythonFrame) for frame in arrival.stack.frames)
    handler = handler_frame(arrival.stack)
    return GOES_ON if frames >= before or handler is None or is_foreign(handler) else None


def _handler_begins(arrival: Arrival) -> Outcome | ArrivalFact:
    """The handler takes the exception: the step ends when it has it."""
    if arrival.caller is UNREAD:
        return ArrivalFact.CALLER
    return Outcome(False, StopPoints(returns=(arrival.caller,)))


def _is_compilers(top: NativeFrame, left: NativeFrame | None) -> bool:
    """Whether a compiler's own code is here among the author's lines, with lines of the same source.

    It comes back to a line after calls of its own functions: the line that was left is no other line.
    """
    if top.between:
        return True
    if toolchain_of(top.source_language).steps_by_lines and left is not None:
        return (top.function, top.file, top.line, top.sp) == (left.function, left.file, left.line, left.sp)
    return top.role is Role.GLUE and (top.file or "").endswith(GLUE_SOURCES)


def _is_within_line(arrival: Arrival, top: NativeFrame, step: Step) -> bool:
    """Whether the function that is stepped is still on the line that was left, or on one of the C++ library's or of
    Python's headers: of code that was inlined into the line, and of which debug info says no more. What is inlined
    there is part of the function.
    """
    assert not isinstance(arrival.stack, Unread)
    left, caller = step.top, direct_caller(arrival.stack)
    if left is None or left.line is None or caller is None or caller.sp != step.end:
        return False
    if is_of_python(top) and not is_of_python(left) and not top.inlined:
        return True  # also where they are the system's
    if is_of_system(top) and not is_of_system(left):
        # A step goes on in a template of a library, too, into which code of the user's was put: that may come again.
        return step.kind == "step" or top.inlined or not is_between(top)
    return (top.function, top.inlined, top.file, top.line) == (
        left.function,
        left.inlined,
        left.file,
        left.line,
    )


def _is_in_callee(arrival: Arrival, step: Step) -> bool:
    """Whether the thread is in a function that was inlined into the one that is stepped, and that calls for no stop."""
    assert not isinstance(arrival.stack, Unread)
    here, within = functions_within(arrival.stack), step.within
    if step.kind not in _OVER or not within or not _is_in_stepped_frame(arrival, step):
        return False
    return len(here) > len(within) and here[: len(within)] == within


def _is_in_stepped_frame(arrival: Arrival, step: Step) -> bool:
    assert not isinstance(arrival.stack, Unread)
    caller = direct_caller(arrival.stack)
    return caller is not None and caller.sp == step.end


def _line_reached(arrival: Arrival, step: Step) -> Outcome | ArrivalFact:
    """gdb ended a source step. In a binding layer the step goes on to where the user's code is."""
    if arrival.stack is UNREAD:
        return ArrivalFact.STACK
    top, momentary = arrival.top, arrival.momentary
    if momentary.by_lines and _is_in_stepped_frame(arrival, step):
        return THE_REST
    if top is not None and step.kind in ("step", "next") and _is_compilers(top, step.top):
        return Outcome(False, again=NATIVE_MOVES[step.kind])
    if _is_in_callee(arrival, step):
        return Outcome(False, again=NATIVE_MOVES[step.kind])
    if top is not None and step.kind in NATIVE_MOVES and _is_within_line(arrival, top, step):
        return Outcome(False, again=NATIVE_MOVES[step.kind])
    if top is None or _is_there(arrival, top, step):
        return ENDS
    if is_stub(top):  # the function has ended in a jump to a function of another library
        caller = native_caller(arrival.stack)
        if caller is not None:
            return Outcome(False, StopPoints(returns=(caller,)))
        return GOES_ON if momentary.landings else ENDS
    if step.kind == "step" and step.top is not None:
        return _detour(arrival, step)
    if step.top is not None and top.inlined and is_inlined_in_users(arrival.stack):
        # The rest of a line of user code, which a library's code begins.
        return Outcome(False, again=NATIVE_MOVES["next"])
    if momentary.entries:
        return _through_glue(arrival) or ENDS
    # The step left the user's function by next. It goes on to where that function returns, if gdb stops there.
    return GOES_ON if momentary.landings else ENDS


def _has_returned(arrival: Arrival, top: NativeFrame, step: Step) -> bool:
    """Whether the stepped function has. On AArch64 one without a frame has the stack pointer of its caller."""
    is_above = step.end is not None and top.sp is not None and top.sp >= step.end
    return is_above and not _is_in_stepped_frame(arrival, step)


def _is_there(arrival: Arrival, top: NativeFrame, step: Step) -> bool:
    """Whether a source step is in the user's code again, or still."""
    if _has_returned(arrival, top, step):
        return not is_foreign(top)
    if step.kind == "step" and step.top is not None:
        return not is_between(top) or (is_between(step.top) and top.library == step.top.library)
    if step.top is not None and is_of_system(top) and is_between(top) and not is_of_system(step.top):
        return False  # in a template of a library, into which code of the user was put
    return top.role is Role.USER and not (arrival.momentary.entries and is_header(top))


def _detour(arrival: Arrival, step: Step) -> Outcome:
    """The step has entered code that is not the user's. That may call a user function, where the step ends;
    else it goes on with the rest of the line when that code returns.
    """
    assert arrival.top is not None and not isinstance(arrival.stack, Unread)
    began_between = step.top is not None and is_between(step.top)
    own = frame_that_ends(arrival.stack, step.end) if began_between else None
    top, back = arrival.top, own or user_below(arrival.stack)
    if is_header(top) and is_inlined_in_users(arrival.stack):
        return THE_REST  # of the user's line that the step has come back to
    if back is None or _has_returned(arrival, top, step):
        return _through_glue(arrival) or (GOES_ON if arrival.momentary.landings else ENDS)
    if top.inlined:
        return THE_REST
    return Outcome(False, StopPoints(detour=back, bodies=None if arrival.momentary.has_bodies else back.pc))
