"""Arguments of functions without debug info: what is known of a call, and what is read by it."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .base import Request
from .values import NativeVariable


class Passing(NamedTuple):
    """What is known of a call of a function without debug info.

    ``parameters``: name and C++ type of each. ``hidden``: a first argument says where the result is to be made, whose
    type is ``result``; ``member``: then comes ``this``, of the class ``this`` where that is to be shown; ``table``:
    then comes a table of virtual bases. None: not known. ``by_address``: types whose copy is not trivial.
    ``evidence``: what the code of the function tells; ``as_written``: types are shown as C++ has them.
    ``call``: what this call of it tells, as ``gdb_scripts/dualdbg_helpers/placing.py`` has it. ``callers_fill``:
    callers pass every parameter. ``constructs``: there is no object yet where ``this`` leads.
    """

    parameters: Sequence[Tuple[str, str]]
    hidden: Optional[bool]
    member: Optional[bool]
    result: Optional[str] = None
    table: Optional[bool] = False
    this: Optional[str] = None
    by_address: Sequence[str] = ()
    evidence: Optional[Mapping[str, Any]] = None
    as_written: bool = False
    call: Optional[Mapping[str, Any]] = None
    callers_fill: bool = True
    constructs: bool = False


class CallerCode(NamedTuple):
    """What is known of a function that calls another.

    ``parts``: where its code is; ``whole``: that is all of it, from its entry on; ``pads``: where exceptions land in
    it; ``given``: what it is given itself. ``stubs`` and ``slots``: where stubs of the linker are in its library
    (``.plt``), and the addresses that it fills in (``.got``). ``constants``: where its constants are (``.rodata``).
    """

    parts: Sequence[Tuple[int, int]]
    whole: bool
    pads: Sequence[int]
    given: Optional[Passing]
    stubs: Sequence[Tuple[int, int]]
    slots: Sequence[Tuple[int, int]]
    constants: Sequence[Tuple[int, int]]


class CallEvidence(NamedTuple):
    """What the code of a caller tells of a ``call``, as ``placing.Call`` has it; or which other function it calls."""

    call: Optional[Mapping[str, Any]]
    goes_to: Optional[int]


class KeptArguments(NamedTuple):
    """Where arguments of a function still are, by the register in which each was passed: a register that calls
    preserve, and how many bytes of the argument it holds.

    ``outside``: addresses in code that was not looked at, to which the function jumps.
    """

    kept: Mapping[str, Tuple[str, int]]
    outside: Sequence[int] = ()


class PassedOn(NamedTuple):
    """The address ``to`` which a function jumps, and which of its own arguments in general registers, counted from 0,
    are those of the function there (-1: none).
    """

    to: int
    arguments: Sequence[int]


class EntryCode(NamedTuple):
    """What the code of a function tells of how it is called: see ``gdb_scripts/dualdbg_helpers/entry_code.py``.

    ``not_hidden``: no hidden argument says where the result is to be made. ``outside`` as in :class:`KeptArguments`.
    ``passed_on``: of a function that does nothing but pass arguments on.
    """

    evidence: Optional[Mapping[str, Any]]
    not_hidden: bool
    outside: Sequence[int] = ()
    passed_on: Optional[PassedOn] = None


class RegisterArgument(NamedTuple):
    """An argument that is one whole number or a pointer; ``register`` counts those of whole numbers from 0 on."""

    name: str
    type: str
    register: int
    size: int
    signed: bool
    pointer: bool


class ReadPassedArguments(Request[List[NativeVariable]], module="passed"):
    """Return the arguments of a frame of a function without debug info, which begins at ``entry``.

    ``kept``: as in :class:`KeptArguments`. Where a value is not known its text says so.
    """

    gdb_thread: int
    level: int
    entry: int
    what: Passing
    kept: Mapping[str, Tuple[str, int]]


class NoteArguments(Request[None], module="passed"):
    """Where a thread stands at ``entry``: keep what is passed, for :class:`ReadPassedArguments` later in this call."""

    gdb_thread: int
    entry: int
    what: Passing


class ReadKeptArguments(Request[KeptArguments], module="passed"):
    """Return where arguments of a function still are at ``pc``; the first of its ``parts`` begins with its entry."""

    parts: Sequence[Tuple[int, int]]
    pc: int


class ReadEntryCode(Request[EntryCode], module="passed"):
    """Return what the code of a function tells of how it is called; the first of its ``parts`` begins with its entry.

    ``pads``: where exceptions land in it.
    """

    parts: Sequence[Tuple[int, int]]
    pads: Sequence[int]


class ReadCallEvidence(Request[CallEvidence], module="callers"):
    """Return what the code of the caller tells of a call, where a thread stands at the ``entry`` of the function.

    ``through``: a function between the two, which passes the call on by a jump.
    """

    gdb_thread: int
    entry: int
    called_by: CallerCode
    through: Optional[CallerCode] = None


class EvaluatePassed(Request[NativeVariable], module="passed_values"):
    """As ``Evaluate``, of an expression about arguments of a function without debug info.

    ``rows``: type, text and handle of each as :class:`ReadPassedArguments` has returned them.
    """

    gdb_thread: int
    level: int
    expression: str
    entry: int
    what: Passing
    rows: Dict[str, Tuple[str, str, Optional[int]]]
    style: str
    seconds: Optional[float]

    @property
    def undone(self) -> bool:
        """As :attr:`Request.undone`."""
        return self.seconds is not None


class TeachArguments(Request[List[str]], module="taught"):
    """Conditions and log texts at an address may be about the arguments of the function without debug info there.

    It begins at ``entry``. Returns those arguments of which ``what`` does not tell where they are.
    """

    address: int
    entry: int
    what: Passing


class FindRegisterArguments(Request[List[RegisterArgument]], module="traced_arguments"):
    """Return the arguments of the function that begins there which are a whole number or a pointer in a register.

    Where ``what`` is None debug info tells them.
    """

    address: int
    what: Optional[Passing]
