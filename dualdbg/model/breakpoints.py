"""Breakpoints: what the user asked for, and where it is bound."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from .frames import Language


class BreakpointKind(str, Enum):
    """What a spec names."""

    OPERATOR = "operator"  # randn, add.Tensor, aten::mm, randn@binding
    FUNCTION = "function"  # a C or C++ function; globs
    NATIVE_LINE = "native-line"  # file.cpp:12
    PYTHON_LINE = "python-line"  # file.py:12
    COMPILED_LINE = "compiled-line"  # file.py:12@kernel: the kernels that torch.compile makes of it
    PYTHON_FUNCTION = "python-function"  # py:package.module.function
    ADDRESS = "address"  # *0x7f...
    DATA = "data"  # memory that changes or is read: subject = ADDRESS:SIZE:ACCESS
    WATCH = "watch"  # a native value that changes or is read; subject = expression
    PYTHON_WATCH = "python-watch"  # a value of Python that changes; subject = expression
    PRESET = "preset"  # preset:jit-run; expanded before it reaches an engine
    THROW = "throw"  # a C++ exception is thrown; subject = type or ""
    CATCH = "catch"  # a handler of C++ takes an exception; subject = type or ""
    RAISE = "raise"  # a Python exception is raised; subject = type or ""
    UNCAUGHT = "uncaught"  # a Python exception that nobody handles
    SIGNAL = "signal"  # signal:SIGUSR1


class Layer(str, Enum):
    """The layer of an operator at which to stop."""

    BINDING = "binding"
    DISPATCH = "dispatch"
    KERNEL = "kernel"
    ALL = "all"


STEP_LAYERS = (Layer.BINDING, Layer.DISPATCH, Layer.KERNEL)
"""Where ``step`` may enter an operator."""


@dataclass(frozen=True)
class BreakpointSpec:
    """A spec that was understood. ``text`` is the spec as typed, without its suffixes.

    ``subject``: the operator, function, file, address, preset, type or signal name;
    ``line``: of the three line kinds. ``overload``, ``namespace`` and ``layer`` belong to operators. ``access``: what a
    WATCH stops at: write, read, or readWrite.
    Suffixes: ``condition`` (in the language of the place), ``hits`` (stop from the n-th hit
    on), ``hit_condition`` (which hits stop, as an editor words it: ``5``, ``> 2``, ``% 3``),
    ``log`` (a text with {expressions}; the target does not stop), ``temporary``, ``thread``
    (OS thread id or name), ``outermost`` (a function: not in a call of it that another call of it
    led to), ``fast`` (condition and count are to be dealt with in the process),
    ``counts`` (it never stops: hits are counted in the process), and then also
    ``records`` (each is taken down: who called, with what) and ``times`` (calls are timed).
    """

    text: str
    kind: BreakpointKind
    subject: str
    line: int | None = None
    namespace: str | None = None
    overload: str | None = None
    layer: Layer | None = None
    access: str | None = None
    condition: str | None = None
    hits: int | None = None
    hit_condition: str | None = None
    log: str | None = None
    temporary: bool = False
    thread: str | None = None
    outermost: str | None = None
    fast: bool = False
    counts: bool = False
    records: bool = False
    times: bool = False

    @property
    def language(self) -> Language:
        """The language of the places that it means."""
        return Language.PYTHON if self.kind in _PYTHON_KINDS else Language.NATIVE

    @property
    def suffixes(self) -> list[str]:
        """The suffixes, each as it is typed. The condition comes last, for it ends with the text."""
        parts = ["temporary"] if self.temporary else []
        parts += ["fast"] if self.fast else []
        parts += ["trace" if self.records else "count"] if self.counts else []
        parts += ["time"] if self.times else []
        parts += [f"hits {count}" for count in (self.hits, self.hit_condition) if count is not None]
        parts += [f"thread {_thread_text(self.thread)}"] if self.thread is not None else []
        parts += [f"outermost {self.outermost}"] if self.outermost is not None else []
        parts += [f"log {_quoted(self.log)}"] if self.log is not None else []
        return parts + ([f"if {self.condition}"] if self.condition is not None else [])


def _thread_text(thread: str) -> str:
    return thread if re.fullmatch(r"[\w.:/-]+", thread) else _quoted(thread)


def _quoted(text: str) -> str:
    for letter, name in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(letter, name)
    return f'"{text}"'


MOST_HITS = 2**31 - 1
"""From which hit on a breakpoint may stop at most: gdb counts those that it passes over in 32 bits, with a sign."""
SUFFIX_FIELDS = (
    "condition",
    "hits",
    "hit_condition",
    "log",
    "temporary",
    "thread",
    "outermost",
    "fast",
    "counts",
    "records",
    "times",
)
"""What of a spec is no part of its place, and may be changed while the breakpoint stays."""

_PYTHON_KINDS = {
    BreakpointKind.PYTHON_LINE,
    BreakpointKind.PYTHON_FUNCTION,
    BreakpointKind.RAISE,
    BreakpointKind.UNCAUGHT,
    BreakpointKind.PYTHON_WATCH,
}


@dataclass(frozen=True)
class Location:
    """One place where a breakpoint is bound. ``address`` is absolute in the target (None for Python).

    ``inlined_in``: the compiler inlined the function there, into this other one.
    """

    function: str | None = None
    library: str | None = None
    address: int | None = None
    file: str | None = None
    line: int | None = None
    inlined_in: str | None = None


class BreakpointState(str, Enum):
    """Best first. VERIFIED: an engine has set it. UNCERTAIN: an engine has set it where debug info does not tell
    whether the line runs there; its message says so. PENDING: no location yet. REJECTED: it cannot be set.
    """

    VERIFIED = "verified"
    UNCERTAIN = "uncertain"
    PENDING = "pending"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Evaluation:
    """Where the condition or the count of a native breakpoint is dealt with: in the process (``why_not`` is None), or
    by gdb at each hit, and why.
    """

    why_not: str | None = None


@dataclass(frozen=True)
class Breakpoint:
    """A breakpoint of the session. ``id`` is the number the user sees, the same in every front end.

    ``evaluations`` are the different ones of its places; empty where each hit stops.
    """

    id: int
    spec: BreakpointSpec
    state: BreakpointState
    locations: tuple[Location, ...] = ()
    enabled: bool = True
    hit_count: int = 0
    message: str | None = None
    evaluations: tuple[Evaluation, ...] = ()

    @property
    def language(self) -> Language:
        """The language of the places where it is bound; where they are of both, or none, that of its spec."""
        if self.locations and all(place.address is None for place in self.locations):
            return Language.PYTHON
        return self.spec.language
