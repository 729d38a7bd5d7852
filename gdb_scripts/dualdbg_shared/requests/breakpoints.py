"""Breakpoints, watchpoints, log points; what was met at one. Each request that inserts one returns gdb's number."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from .base import Request


class ReturnAddress(NamedTuple):
    """Where a function returns to: the address, and the stack pointer then."""

    pc: int
    sp: int


class StepEndNumbers(NamedTuple):
    """gdb's numbers of the breakpoints at which a step may end, in the order in which they were wanted.

    ``notes``: where a result is read and the step does not end.
    """

    returns: Tuple[int, ...] = ()
    pads: Tuple[int, ...] = ()
    catches: Tuple[int, ...] = ()
    notes: Tuple[int, ...] = ()


class WantedResult(NamedTuple):
    """Where the function returns to that a step is to leave, as the address and the stack pointer there.

    ``kind``: the C++ type of its result as its name or the schema of its operator tells, ``void`` for none; None where
    debug info may tell, or nothing. ``declared``: whether what comes back is of the type that is declared. ``call``:
    the entry of the function; start and end of the caller's code around the call, without what the compiler has put
    aside.
    """

    pc: int
    sp: int
    kind: Optional[str] = None
    declared: bool = True
    call: Tuple[int, ...] = ()


class StepResult(NamedTuple):
    """What a function has returned: the type and the text, which says so where the value is not known."""

    type: str
    value: str


class ThrownObject(NamedTuple):
    """An exception of C++: mangled names of the type and its first bases, and what() if known."""

    types: Tuple[str, ...]
    text: Optional[str]


class InsertBreakpoint(Request[int], module="breakpoints"):
    """Set a breakpoint at an address, for one thread or for all."""

    address: int
    gdb_thread: Optional[int] = None


class InsertBreakpoints(Request[List[int]], module="breakpoints"):
    """Set internal breakpoints for one thread; return their numbers in the order of the addresses."""

    gdb_thread: int
    addresses: Sequence[int]


class InsertAtFunction(Request[int], module="breakpoints"):
    """Set a breakpoint at which the function itself is shown, not what was inlined at its beginning.

    ``inlined`` is its name where it was inlined itself. The number may be below zero.
    """

    address: int
    inlined: Optional[str] = None
    gdb_thread: Optional[int] = None


class InsertLogPoint(Request[int], module="breakpoints"):
    """Set a breakpoint that prints ``texts`` with the values of ``expressions`` between, and never stops.

    It stops all the same when its condition has no value. ``tid`` is an OS thread id, 0 for every thread;
    ``at_function``, ``inlined`` as for :class:`InsertAtFunction`.
    """

    address: int
    texts: Sequence[str]
    expressions: Sequence[str]
    condition: Optional[str]
    tid: int
    at_function: bool = False
    inlined: Optional[str] = None


class InsertCue(Request[int], module="breakpoints"):
    """Set an internal breakpoint that stops only where the lower half of a register is ``value``, signed."""

    address: int
    register: str
    value: int


class InsertWatchpoint(Request[int], module="watchpoints"):
    """Watch ``size`` bytes in hardware; ``access`` is ``write``, ``read`` or ``readWrite``."""

    address: int
    size: int
    access: str


class WatchExpression(Request[Optional[int]], module="watchpoints"):
    """Watch the value of an expression in a frame, in hardware.

    Without a thread it has to begin with a global variable; None where there is none of that name yet. An error where
    there is no value, or the processor cannot watch it.
    """

    gdb_thread: Optional[int]
    level: int
    expression: str
    access: str


class RequireThread(Request[None], module="breakpoints"):
    """Let a breakpoint stop in this thread only."""

    number: int
    gdb_thread: int


class SetBreakpoint(Request[None], module="breakpoints"):
    """Set ``enabled`` or ``ignore_count`` of a breakpoint."""

    number: int
    attribute: str
    value: Any


class CountHits(Request[int], module="breakpoints"):
    """Return how often a breakpoint was hit; hits that were passed over count."""

    number: int


class DeleteBreakpoints(Request[None], module="breakpoints"):
    """Delete breakpoints; one that is gone already is no error."""

    numbers: Sequence[int]


class ReadLastBreakpoint(Request[int], module="breakpoints"):
    """Return the number of the breakpoint that was set last, 0 before the first."""


class SetCondition(Request[None], module="breakpoints"):
    """Let a breakpoint stop only where a condition is true; None: always. An error where it cannot be read there."""

    number: int
    condition: Optional[str]


class EvaluateCondition(Request[bool], module="breakpoints", undone=True):
    """Return whether a condition is true in the innermost frame. An error when it has no value."""

    gdb_thread: int
    condition: str


class FormatLogText(Request[str], module="breakpoints", undone=True):
    """Return what a log point with these texts and expressions would print in the innermost frame."""

    gdb_thread: int
    texts: Sequence[str]
    expressions: Sequence[str]


class ReadThrownObject(Request[ThrownObject], module="exceptions"):
    """Return what is thrown, at the entry of ``__cxa_throw``."""

    gdb_thread: int


class ReadCaughtObject(Request[ThrownObject], module="exceptions"):
    """Return what is caught, at the entry of ``__cxa_begin_catch``."""

    gdb_thread: int


class ReadPanicText(Request[Optional[str]], module="exceptions"):
    """Return the message of a panic, at the entry of ``rust_panic``; None where memory does not say it."""

    gdb_thread: int


class InsertStepEnds(Request[StepEndNumbers], module="step_ends"):
    """Set internal breakpoints at which a step of one thread may end; gdb's own step passes the others' turns.

    ``returns``: the address to which a call returns, and the caller's stack pointer. ``pads``: landing pads, the end of
    the frame that is to catch, and whether the unwinder may not say there that it does. ``catches``: addresses of
    ``__cxa_begin_catch``, and the stack pointer of the frame that calls it. ``result``: the thread stands in a function
    whose result is to be read when it returns; :class:`ReadStepResult` has it then.
    """

    gdb_thread: int
    returns: Sequence[Tuple[int, int]]
    pads: Sequence[Tuple[int, int, bool]]
    catches: Sequence[Tuple[int, int]]
    result: Optional[WantedResult] = None


class InsertStepLines(Request[List[int]], module="step_lines"):
    """Set internal breakpoints for a thread that stands at ``pc`` in the frame that ends at ``top``.

    ``places``: addresses in that function, with its C name where it was inlined itself. Only those are taken to which
    control may come before all others.
    """

    gdb_thread: int
    pc: int
    top: int
    places: Sequence[Tuple[int, Optional[str]]]


class ReadStepResult(Request[Optional[StepResult]], module="returned"):
    """Return what the function that the last step was to leave has returned; None for nothing, or not yet."""


class FindCallerAtEntry(Request[ReturnAddress], module="step_ends"):
    """Return where the function returns to at whose first instruction the thread stands."""

    gdb_thread: int
