"""One stop for one call of an operator: which arrivals at its kernels belong to a call that was already reported.

An operator's overloads call each other: ``at::native::randn(size)`` calls ``randn(size, generator)``, ``abs`` calls
``abs_out`` through the dispatcher. Of 2,010 operators called once each, 297 passed through two or more kernels of
their own name. To the user that is one call, as long as no Python code runs in between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ...model import Layer


@dataclass(frozen=True)
class Arrival:
    """A thread at the first instruction of a function.

    ``function`` is the function's address, ``stack_pointer`` and ``return_address`` are what the thread has there.
    """

    thread: int
    function: int
    stack_pointer: int
    return_address: int


def layer_of(function: str | None) -> Layer:
    """The layer of an operator that a function belongs to, by the function's name."""
    if function is not None and function.startswith("at::_ops::"):
        return Layer.DISPATCH
    return Layer.BINDING if "THPVariable_" in (function or "") else Layer.KERNEL


def continues_call(
    now: Arrival, outer: Iterable[int], kernels: Collection[int], last: Arrival | None = None
) -> bool:
    """Whether an arrival at a kernel is part of a call that has already passed through a kernel of the operator.

    ``outer`` are the addresses (where they begin) of the functions further out in the thread, innermost first, up to
    the first frame of the interpreter's evaluation loop. ``kernels`` are the functions of the breakpoint, all of one
    layer. ``last`` is the arrival that was reported last for the breakpoint in this thread. A kernel that ends with a
    jump to another kernel leaves no frame, but the same stack pointer and return address.
    """
    if any(function in kernels for function in outer):
        return True
    return (
        last is not None
        and last.function != now.function
        and (last.thread, last.stack_pointer, last.return_address)
        == (now.thread, now.stack_pointer, now.return_address)
    )
