"""Plans how a step begins: where it may end, what gdb is asked to do, and what debugpy. Pure.

A plan is made from facts about the place that is left. Facts cost requests to an engine, so each function returns the
plan, or the one fact that it needs next. Who performs a plan is in ``departure.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from ...backends.native import Move
from ...errors import WrongState
from ...model import NativeFrame, PythonFrame, Stack, Stop
from ...snapshot.cpython.held_process import Attachment
from ...toolchains.registry import toolchain_of
from ..stops.facts import UNREAD, PythonHold, Unread
from .step import CONTINUE, NATIVE_MOVES, Step
from .step_frames import (
    caller_outside,
    direct_caller,
    frames_with_native_callers,
    functions_within,
    innermost_native,
    is_inlined_in,
    native_caller,
)
from .stop_points import NOWHERE, FunctionCalls, Left, LinePlace, OtherLines, Pad, StopPoints

_INSTRUCTION_MOVES = {"stepi": Move.STEP_INSTRUCTION, "nexti": Move.NEXT_INSTRUCTION}
INSTRUCTION_STEPS = frozenset(_INSTRUCTION_MOVES)


class GroundFact(Enum):
    """A fact about the place that is left. A plan asks for one at a time."""

    UNHEARD = "unheard"
    THREAD = "thread"
    STACK = "stack"
    GIL = "gil"
    SOUND = "sound"
    MAY_CALL = "may call"
    EXIT = "exit"
    PADS = "pads"
    CALLED = "called"
    CALLS = "calls"
    LINES = "lines"
    MAY_RETURN = "may return"
    CALLER = "caller"


@dataclass
class NativeGround:
    """Where a thread stands at a native stop, and what has been read about it so far.

    ``stop`` is the stop that the user sees. Then the facts that cost something:

    ``gdb_thread``: gdb's number of the thread. ``unheard``: the number of the last message to debugpy about
    breakpoints, while debugpy has not taken it. ``attachment``: whether the thread may run Python. ``is_sound``: Python
    code can be run in the thread as it stands. ``may_call_python``: debugpy can be armed in the thread now. ``exit``:
    the frame of the interpreter to which the native code returns in the end. ``calls``: what the function calls, as far
    as gdb can tell. ``lines``: where control comes to other lines of the function. ``pads``: the handlers of the
    native code above the innermost Python function. ``caller``: the native frame that called the innermost Python
    function, where a step may end in it.
    """

    tid: int
    stop: Stop
    gdb_thread: int | Unread = UNREAD
    stack: Stack | Unread = UNREAD
    unheard: int | Unread | None = UNREAD
    attachment: Attachment | Unread = UNREAD
    is_sound: bool | Unread = UNREAD
    may_call_python: bool | Unread = UNREAD
    exit: NativeFrame | Unread | None = UNREAD
    calls: FunctionCalls | Unread | None = UNREAD
    lines: tuple[LinePlace, ...] | Unread = UNREAD
    pads: tuple[Pad, ...] | Unread = UNREAD
    caller: NativeFrame | Unread | None = UNREAD


@dataclass
class PythonGround:
    """Where a thread stands at a Python stop. ``may_return``: the function may return from the current line.

    ``called``: C code may have called the function, or one below it. ``unseen``: the number of Python functions on the
    stack, where debugpy may not stop before one of them goes back to the native code that called it; else 0.
    ``caller``: the native frame that called the function, where a step may end in it; ``left``: the function itself,
    where it returns to native code.
    """

    tid: int
    gdb_thread: int
    hold: PythonHold
    may_return: bool | Unread = UNREAD
    called: bool | Unread = UNREAD
    unseen: int = 0
    caller: NativeFrame | Unread | None = UNREAD
    left: Left | None = None


@dataclass(frozen=True)
class NativePlan:
    """How a native stop is left: in the order of the fields, and ``step`` is under way then.

    ``gdb_thread`` is the thread that all this is done to; None where nothing is done but to let the target run.
    ``hear``: the thread waits until debugpy has taken the message of this number. ``arm``: debugpy is made to end the
    step, as after this command; ``must_arm``: without that there is no step. ``places``: where gdb sets breakpoints for
    the step. ``move``: how gdb lets the target run; ``level``: the frame that ``FINISH`` leaves, counted from the
    innermost, 0.
    """

    gdb_thread: int | None = None
    hear: int | None = None
    arm: str | None = None
    must_arm: bool = False
    places: StopPoints = NOWHERE
    move: Move = Move.CONTINUE
    level: int = 0
    step: Step | None = None


class Watch(Enum):
    """What becomes of the watch over the calls of a Python line."""

    BEGIN = "begin"
    END = "end"
    AS_IT_IS = "as it is"


@dataclass(frozen=True)
class PythonPlan:
    """How a Python stop is left: in the order of the fields, and ``step`` is under way then.

    ``places``: breakpoints that gdb sets for the step. ``watch``: with ``BEGIN`` the current line of ``hold`` is
    watched, and what the watch asks for is set too. ``request`` goes to debugpy about its thread number ``thread``;
    ``target`` is a number that debugpy gave. ``may_be_refused``: what debugpy says to it is waited for.
    """

    places: StopPoints = NOWHERE
    watch: Watch = Watch.END
    hold: PythonHold | None = None
    request: str = CONTINUE
    thread: int | None = None
    target: int | None = None
    step: Step | None = None
    may_be_refused: bool = False


# -- from a native stop ---------------------------------------------------------------------------


def plan_continue(ground: NativeGround) -> NativePlan | GroundFact:
    """How to let the target run on.

    Python breakpoints that were set or changed at this stop count from the next Python line on. Therefore the thread
    waits for debugpy: where it stands, if native code may call Python there, else where its native code returns into
    Python. Other threads may reach such a breakpoint before debugpy knows it.
    """
    plain = NativePlan()
    if ground.unheard is UNREAD:
        return GroundFact.UNHEARD
    if ground.unheard is None:
        return plain
    if ground.gdb_thread is UNREAD:
        return GroundFact.THREAD
    hearing = NativePlan(ground.gdb_thread, hear=ground.unheard)
    if ground.stack is UNREAD:
        return GroundFact.STACK
    if isinstance(_shown(ground.stack), PythonFrame):
        if ground.attachment is UNREAD:
            return GroundFact.GIL
        return hearing if ground.attachment else plain
    if ground.is_sound is UNREAD:
        return GroundFact.SOUND
    if ground.is_sound:
        return hearing
    if ground.exit is UNREAD:
        return GroundFact.EXIT
    if ground.exit is None:
        return plain
    step = Step(CONTINUE, ground.tid, ground.gdb_thread)
    return NativePlan(ground.gdb_thread, places=StopPoints(returns=(ground.exit,)), step=step)


def plan_native_step(kind: str, chosen: int | None, ground: NativeGround) -> NativePlan | GroundFact:
    """A step from a native stop. ``chosen`` is the address of the function to step into, where the user chose one.

    Raises WrongState where the thread cannot be stepped.
    """
    if ground.gdb_thread is UNREAD:
        return GroundFact.THREAD
    step = Step(kind if chosen is None else "next", ground.tid, ground.gdb_thread)
    if step.kind in _INSTRUCTION_MOVES:
        return NativePlan(step.gdb_thread, move=_INSTRUCTION_MOVES[step.kind], step=step)
    if ground.stack is UNREAD:
        return GroundFact.STACK
    shown = _shown(ground.stack)
    if isinstance(shown, PythonFrame):
        return _from_python_line(replace(step, origin=shown), chosen, ground, ground.stack)
    top = innermost_native(ground.stack)
    return _from_native_code(replace(step, top=top), chosen, ground, ground.stack)


def plan_native_goto(address: int, ground: NativeGround) -> NativePlan | GroundFact:
    """The thread goes on at another address of the function in which it stands, and stops there at once.

    Nothing of what lies between is run, no destructor either.
    """
    if ground.gdb_thread is UNREAD:
        return GroundFact.THREAD
    step = Step("goto", ground.tid, ground.gdb_thread)
    return NativePlan(step.gdb_thread, places=StopPoints(moved_to=address), move=Move.JUMP, step=step)


def _from_python_line(
    step: Step, chosen: int | None, ground: NativeGround, stack: Stack
) -> NativePlan | GroundFact:
    """gdb holds a thread in the interpreter, on a Python line. debugpy ends the step, or the native code that called
    the function.
    """
    if ground.attachment is UNREAD:
        return GroundFact.GIL
    if not ground.attachment:
        raise WrongState(
            f"the thread is inside the interpreter and {ground.attachment.value}: it cannot be stepped from here",
            "type continue, or set a breakpoint",
        )
    if ground.caller is UNREAD:
        return GroundFact.CALLER
    places = StopPoints(
        returns=(ground.caller,) if ground.caller is not None else (),
        catches=frames_with_native_callers(stack),
        chosen=chosen,
        left=python_left(stack) if step.kind == "finish" and ground.caller is not None else None,
    )
    command = "next" if step.kind == "until" else step.kind
    return NativePlan(step.gdb_thread, arm=command, must_arm=True, places=places, step=step)


def _from_native_code(
    step: Step, chosen: int | None, ground: NativeGround, stack: Stack
) -> NativePlan | GroundFact:
    has_line = step.top is not None and step.top.line is not None
    enters = step.kind == "step" and step.top is not None
    if enters and ground.may_call_python is UNREAD:
        return GroundFact.MAY_CALL
    if ground.exit is UNREAD:
        return GroundFact.EXIT
    calls = None
    if enters and not has_line:
        if ground.calls is UNREAD:
            return GroundFact.CALLS
        calls = ground.calls
    if _steps_by_lines(step) and ground.lines is UNREAD:
        return GroundFact.LINES
    if ground.pads is UNREAD:
        return GroundFact.PADS
    returns = [ground.exit] if ground.exit is not None else []
    # To the next frame of the user: a native caller, else the Python line to which the native code returns.
    caller = native_caller(stack, glue_too=calls is not None)
    direct = direct_caller(stack)
    leaves = step.kind == "finish" or not has_line
    inlined = caller is not None and is_inlined_in(caller, stack)
    lines = _other_lines(step, ground, direct)
    if lines is not None:
        outside = caller_outside(stack) or (direct if not returns else None)
        returns += [outside] if outside is not None else []
    elif caller is not None and not inlined and (leaves or direct is None or direct.level != caller.level):
        returns.append(caller)
    move = NATIVE_MOVES.get(step.kind, Move.FINISH)
    if leaves:
        move = Move.CONTINUE if returns and not inlined else Move.FINISH
    if lines is not None and step.kind != "step":
        move = Move.CONTINUE
    innermost = step.top.level if step.top is not None else 0
    pads = tuple(pad for pad in ground.pads if not leaves or pad.last > innermost)
    left = None
    if leaves and step.top is not None and not step.top.inlined and direct is not None:
        left = Left(step.top, direct, step.top.function or f"{step.top.pc:#x}")
    return NativePlan(
        step.gdb_thread,
        arm="step" if enters and ground.may_call_python else None,
        places=StopPoints(
            returns=tuple(returns), pads=pads, calls=calls, chosen=chosen, left=left, lines=lines
        ),
        move=move,
        level=caller.level - 1 if leaves and inlined and caller is not None else 0,
        step=replace(step, end=direct.sp if direct is not None else None, within=functions_within(stack)),
    )


def _steps_by_lines(step: Step) -> bool:
    """Whether the step ends where control comes to another line: where line tables tell gdb too little."""
    top = step.top
    return step.kind in NATIVE_MOVES and top is not None and toolchain_of(top.source_language).steps_by_lines


def _other_lines(step: Step, ground: NativeGround, direct: NativeFrame | None) -> OtherLines | None:
    top = step.top
    if isinstance(ground.lines, Unread) or not ground.lines or top is None or top.line is None:
        return None
    if direct is None or direct.sp is None:
        return None
    first = top.line + 1 if step.kind == "until" else 0
    places = tuple(
        place
        for place in ground.lines
        if (place.function, place.line) != (top.function, top.line)
        and (step.kind == "step" or not place.is_inner)
        and (place.line >= first or place.function != top.function)
    )
    return OtherLines(top.pc, direct.sp, places)


def python_left(stack: Stack) -> Left | None:
    """The innermost function that the user sees, where it is Python's and native code has called it."""
    function = next(iter(stack.visible()), None)
    if not isinstance(function, PythonFrame) or not function.entry:
        return None
    outer = stack.frames[stack.frames.index(function) + 1 :]
    caller = outer[0] if outer else None
    return Left(None, caller, function.function or "?") if isinstance(caller, NativeFrame) else None


def _shown(stack: Stack) -> NativeFrame | PythonFrame | None:
    """The innermost frame that the user sees."""
    visible = stack.visible()
    return visible[0] if visible else None


# -- from a Python stop ---------------------------------------------------------------------------


def plan_python_step(kind: str, target: int | None, ground: PythonGround) -> PythonPlan | GroundFact:
    """A step from a Python stop. ``target`` is a number that debugpy gave (``stepInTargets``).

    A function that native code called returns into that code. debugpy does not see that, so gdb stops there. Exceptions
    of Python may be caught there too; most often debugpy stops before (``Need.LEAVING``), else gdb waits for them.
    """
    caller = None
    if ground.called is UNREAD:
        return GroundFact.CALLED
    leaves = kind in ("finish", "until")
    if ground.called and not leaves and ground.may_return is UNREAD:
        return GroundFact.MAY_RETURN
    if ground.called and (leaves or ground.may_return):
        if ground.caller is UNREAD:
            return GroundFact.CALLER
        caller = ground.caller
    hold = ground.hold
    step = Step(
        kind,
        ground.tid,
        ground.gdb_thread,
        origin=hold.top,
        depth=hold.depth,
    )
    return PythonPlan(
        places=StopPoints(
            returns=(caller,) if caller is not None else (),
            catches=ground.unseen,
            left=ground.left if kind == "finish" else None,
        ),
        watch=Watch.BEGIN if kind == "step" else Watch.END,
        hold=hold,
        request=step.request,
        thread=hold.event.debugpy_thread,
        target=target,
        step=step,
    )


def plan_goto(target: int | None) -> PythonPlan:
    """The point of execution moves to a place that debugpy gave (``gotoTargets``). That is no step.

    The interpreter refuses places that cannot be reached from where it stands: into a loop, out of an except block.
    """
    return PythonPlan(watch=Watch.AS_IT_IS, request="goto", target=target, may_be_refused=True)
