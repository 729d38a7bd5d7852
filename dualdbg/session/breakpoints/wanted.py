"""What is known of a breakpoint in native code: what the user wants, and what gdb and the process do for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...model import BreakpointSpec, Location
from ...shared.requests.code import CodeAddress
from ...symbols.address_space import LoadedFunction
from ...symbols.torch.operators import Candidate
from .native_suffixes import is_counted_by_gdb

if TYPE_CHECKING:
    from .cython_locations import CythonPlace
    from .function_locations import FunctionAt
    from .tracing import TracedPlace


@dataclass
class Point:
    """A gdb breakpoint, and the user's breakpoints that share it."""

    number: int
    owners: set[int] = field(default_factory=set)
    prints: bool = False  # gdb prints its text by itself, and does not stop
    ignores: bool = False  # gdb passes over the first hits by itself, and counts them
    at_function: bool = False  # see Points.insert
    shown: str | None = None
    todo: Todo | None = None  # what a probe could do for it
    could: Todo | None = (
        None  # the same, for one that is left to gdb as long as its condition is not often false
    )
    traced: TracedPlace | None = None  # it never stops: gdb's breakpoint is off


@dataclass
class Todo:
    """What gdb does at each hit of a breakpoint, and a probe could do in the target.

    ``hits``: it stops from this hit on; ``thread``: gdb's number of the only thread that counts. ``why_not``: why gdb
    does it; None where a probe does.
    """

    address: int
    condition: str | None
    hits: int | None
    thread: int | None
    why_not: str | None = "the program has not begun"


@dataclass(frozen=True)
class Kind:
    """How gdb is to treat a breakpoint: see :meth:`Points.insert`.

    ``is_looked_at``: gdb neither counts nor prints by itself. An arrival may be the debugger's own, or the condition is
    for the session alone, ``of_session``: about arguments for which gdb has no names, or with calls in the program.
    """

    at_function: bool
    inlined: str | None  # the function's name where it was inlined
    is_looked_at: bool
    of_session: bool

    def is_counted(self, spec: BreakpointSpec) -> bool:
        """Whether gdb passes over the first hits by itself. It would count those where our condition is false."""
        if self.is_looked_at or spec.condition is not None:
            return False
        return is_counted_by_gdb(spec)


@dataclass
class Wanted:
    """A native breakpoint of the user: what to look for, and where it was found."""

    id: int
    spec: BreakpointSpec
    names: tuple[str, ...]
    candidates: tuple[Candidate, ...] = ()
    operator: str | None = None  # of an extension: its kernels are in the registry of the process
    enabled: bool = True
    locations: dict[str, Location] = field(default_factory=dict)  # by the key of their point
    message: str | None = None
    is_sure: bool = True  # that its line runs at its locations, and nowhere else
    unresolved: list[LoadedFunction] = field(
        default_factory=list
    )  # indirect functions whose resolver has not run
    since: float = field(default_factory=time.monotonic)  # when the user asked for it
    passed_over: int = 0  # hits that gdb counted at places where it does not count any more
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # while gdb is told of one of its locations
    turn: int = 0  # how often the user has changed its suffixes

    def doubt_if_unsure(self, places: Iterable[CodeAddress | CythonPlace | FunctionAt], message: str) -> None:
        """It is uncertain, for the reason in ``message``, where one of its places is."""
        if not all(one.is_sure for one in places):
            self.is_sure, self.message = False, message


def todo_of(
    spec: BreakpointSpec,
    point: Point,
    address: int,
    condition: str | None,
    gdb_thread: int | None,
    passed_over: int,
) -> Todo | None:
    """What a probe is to do for a breakpoint; None where none is asked for, and where it stops at each hit."""
    hits = (spec.hits or 1) - passed_over if point.ignores else None
    if not spec.fast and not spec.counts:
        return None
    if not spec.counts and condition is None and hits is None:
        if spec.condition is None and spec.hits is None and spec.hit_condition is None:
            return None
        return Todo(address, None, None, None, "each hit is looked at")
    if spec.thread is not None and gdb_thread is None and not spec.counts:
        return Todo(address, None, None, None, "the thread is not known yet")
    return Todo(address, condition, hits, gdb_thread)
