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
class Pad:
    """A landing pad with a handler: the unwinder goes on there when an exception is caught.

    ``top`` is the canonical address of the frame that catches. ``first`` and ``last`` are the levels of the frames that
    share its function: what is inlined, and the function itself. ``is_cxx``: the handler begins when it calls
    ``__cxa_begin_catch``; destructors may run before. Else it begins here. ``is_mute``: the unwinder may not say there
    that a handler has matched, as Rust's does not.
    """

    address: int
    top: int
    first: int
    last: int
    is_cxx: bool
    is_mute: bool = False


@dataclass(frozen=True)
class Left:
    """A function that a step leaves: its frame, and that to which it returns. ``name`` is for people.

    Without a frame it is a Python function, the outermost one that an evaluation loop runs: the loop returns.
    """

    frame: NativeFrame | None
    caller: NativeFrame
    name: str


@dataclass(frozen=True)
class LinePlace:
    """Where control comes to a line of a function. ``function``: its author's name; ``inlined``: its linkage name,
    where it was inlined. ``is_inner``: into the function that is stepped.
    """

    address: int
    function: str
    line: int
    inlined: str | None
    is_inner: bool


@dataclass(frozen=True)
class OtherLines:
    """The lines at which a step from ``pc`` may end in the frame that ends at ``top``, its canonical address."""

    pc: int
    top: int
    places: tuple[LinePlace, ...]


@dataclass(frozen=True)
class StopPoints:
    """Where gdb is to stop for a step.

    ``returns``: the frames whose callees return into them. ``pads``: the handlers of frames that may catch. ``catch``:
    a frame that has caught, and is about to enter its handler. ``catches``: any frame that does, once there are fewer
    Python functions on the stack than that; 0 for none.

    ``entries``: addresses at which Python enters native code, where a function begins. ``exact``: the same, but the
    breakpoint goes to this very address. ``bodies``: all functions of the extension that has this address. ``detour``:
    the user's frame to which code of a library returns; the rest of its line is stepped. ``operators``: all functions
    of PyTorch's extensions. ``calls``: what a function without debug info calls. ``chosen``: the function that the user
    chose to step into. ``moved_to``: the very address to which the user moves the thread. ``left``: the function whose
    result is read when it returns. ``lines``: other lines of the function.
    """

    returns: tuple[NativeFrame, ...] = ()
    pads: tuple[Pad, ...] = ()
    catch: NativeFrame | None = None
    catches: int = 0
    entries: tuple[int, ...] = ()
    exact: tuple[int, ...] = ()
    bodies: int | None = None
    detour: NativeFrame | None = None
    operators: bool = False
    calls: FunctionCalls | None = None
    chosen: int | None = None
    moved_to: int | None = None
    left: Left | None = None
    lines: OtherLines | None = None


NOWHERE = StopPoints()


@dataclass
class Momentary:
    """The breakpoints of one step, by gdb's numbers.

    ``landings``: where native code is returned to; ``detours``: the same, in the middle of the line that is stepped.
    ``pads``: where an exception is caught; ``catches``: where its handler begins; ``all_catches``: where any handler of
    C++ begins, with the number of Python functions of which one has to be gone.

    ``entries``: native code that the Python line may enter, with its address; ``has_bodies``: all functions of the
    extension are among them. ``calls`` is the calling function; ``callees`` and ``sites`` are set at what it calls.
    ``chosen``: the function that the user chose. ``left``: the name of the function whose result is read when it
    returns; ``notes``: where that is done and the step does not end. ``lines``: where control comes to another line;
    ``by_lines``: in the function the step ends there alone, also where control comes to none before it returns.
    """

    landings: set[int] = field(default_factory=set)
    pads: dict[int, Pad] = field(default_factory=dict)
    catches: set[int] = field(default_factory=set)
    all_catches: dict[int, int] = field(default_factory=dict)
    entries: dict[int, int] = field(default_factory=dict)
    has_bodies: bool = False
    detours: dict[int, int | None] = field(default_factory=dict)
    calls: FunctionCalls | None = None
    callees: set[int] = field(default_factory=set)
    sites: set[int] = field(default_factory=set)
    chosen: set[int] = field(default_factory=set)
    left: str | None = None
    notes: set[int] = field(default_factory=set)
    lines: set[int] = field(default_factory=set)
    by_lines: bool = False
    is_over: bool = False  # they were removed; what is inserted later for this step is removed at once
    # All of them, and those of which it is not known yet what they are.
    inserted: set[int] = field(default_factory=set)

    @property
    def numbers(self) -> list[int]:
        """gdb's numbers of them all."""
        ends = [*self.landings, *self.detours, *self.pads, *self.catches, *self.all_catches]
        named = [*ends, *self.entries, *self.chosen, *self.callees, *self.sites, *self.notes, *self.lines]
        return list(dict.fromkeys([*named, *self.inserted]))
