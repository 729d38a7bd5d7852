"""Where a step may end on gdb's side: the places that a plan wants, and the breakpoints that were set there."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...model import NativeFrame


@dataclass(frozen=True)
class FunctionCalls:
    """What a function without debug info calls. All numbers are addresses.

    The function lies from ``start`` to ``end``. ``callees`` are the functions of interest that it calls by name,
    ``sites`` its calls through a pointer.
    """

    start: int
    end: int
    callees: tuple[int, ...] = ()
    sites: tuple[int, ...] = ()


@dataclass(frozen=True)
class Places:
    """Where gdb is to stop for a step.

    ``returns``: the frames whose callees return into them. ``entries``: addresses at which Python enters native code,
    where a function begins. ``exact``: the same, but the breakpoint goes to this very address. ``bodies``: all
    functions of the extension that has this address. ``operators``: all functions of PyTorch's extensions. ``calls``:
    what a function without debug info calls. ``chosen``: the function that the user chose to step into.
    """

    returns: tuple[NativeFrame, ...] = ()
    entries: tuple[int, ...] = ()
    exact: tuple[int, ...] = ()
    bodies: int | None = None
    operators: bool = False
    calls: FunctionCalls | None = None
    chosen: int | None = None


NOWHERE = Places()


@dataclass
class Momentary:
    """The breakpoints of one step, by gdb's numbers.

    ``landings``: where native code is returned to, with the lowest stack pointer that counts. ``entries``: native code
    that the Python line may enter, with its address; ``has_bodies``: all functions of the extension are among them.
    ``calls`` is the calling function; ``callees`` and ``sites`` are set at what it calls. ``chosen``: the function that
    the user chose.
    """

    landings: dict[int, int] = field(default_factory=dict)
    entries: dict[int, int] = field(default_factory=dict)
    has_bodies: bool = False
    calls: FunctionCalls | None = None
    callees: set[int] = field(default_factory=set)
    sites: set[int] = field(default_factory=set)
    chosen: set[int] = field(default_factory=set)

    @property
    def numbers(self) -> list[int]:
        """gdb's numbers of them all."""
        return [*self.landings, *self.entries, *self.chosen, *self.callees, *self.sites]
