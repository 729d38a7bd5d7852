"""The questions of the session to the native engine, and the answers: plain facts, each with its own type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

PROBE_FUNCTIONS = (
    "PyErr_Fetch",
    "PyErr_Occurred",
    "PyErr_Restore",
    "PyImport_AddModule",
    "PyLong_AsLong",
    "PyMem_RawFree",
    "PyMem_RawMalloc",
    "PyObject_CallMethod",
    "PyObject_GetAttrString",
    "PyObject_Size",
    "PyUnicode_AsUTF8",
    "Py_DecRef",
    "__errno_location",
)
"""What a call of the probe needs: functions of the C API that every CPython exports, and errno."""


PYTHON_OBJECT = "_object*"
"""The C++ type of what the interpreter's evaluation loop returns."""


class Move(Enum):
    """How the target is made to run: freely, or by a native step of one thread."""

    CONTINUE = auto()
    NEXT = auto()
    STEP = auto()
    UNTIL = auto()  # as next, but not backwards in a loop
    FINISH = auto()
    STEP_INSTRUCTION = auto()
    NEXT_INSTRUCTION = auto()
    JUMP = auto()  # one thread goes on elsewhere


class Access(Enum):
    """What a watchpoint stops at."""

    WRITE = "write"  # that changes the value
    READ = "read"
    READ_WRITE = "readWrite"


@dataclass(frozen=True)
class KeptArguments:
    """Where arguments of a function still are, by the register in which each was passed: a register that calls
    preserve, and how many bytes of the argument it holds.

    ``outside``: addresses in code that was not looked at, to which the function jumps.
    """

    kept: Mapping[str, tuple[str, int]]
    outside: tuple[int, ...] = ()


@dataclass(frozen=True)
class Passing:
    """What is known of a call of a function without debug info.

    ``parameters``: name and C++ type of each. ``hidden``: a first argument says where the result is to be made, whose
    type is ``result``; ``member``: then comes ``this``, of the class ``this`` where that is to be shown; ``table``:
    then comes a table of virtual bases. None: not known. ``by_address``: types whose copy is not trivial.
    ``evidence``: what the code of the function tells; ``as_written``: types are shown as C++ has them.
    ``call``: what this call of it tells, as ``gdb_scripts/dualdbg_helpers/placing.py`` has it. ``callers_fill``:
    callers pass every parameter. ``constructs``: there is no object yet where ``this`` leads.
    """

    parameters: tuple[tuple[str, str], ...]
    hidden: bool | None
    member: bool | None
    result: str | None = None
    table: bool | None = False
    this: str | None = None
    by_address: tuple[str, ...] = ()
    evidence: Mapping[str, Any] | None = None
    as_written: bool = False
    call: Mapping[str, Any] | None = None
    callers_fill: bool = True
    constructs: bool = False


@dataclass(frozen=True)
class CallerCode:
    """What is known of a function that calls another: see ``gdb_scripts/dualdbg_engine/callers.py``."""

    parts: tuple[tuple[int, int], ...]
    whole: bool
    pads: tuple[int, ...]
    given: Passing | None
    stubs: tuple[tuple[int, int], ...]
    slots: tuple[tuple[int, int], ...]
    constants: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class CallEvidence:
    """What the code of a caller tells of a call: see ``gdb_scripts/dualdbg_engine/callers.py``."""

    call: Mapping[str, Any] | None
    goes_to: int | None


@dataclass(frozen=True)
class PassedOn:
    """The address ``to`` which a function jumps, and which of its own arguments in general registers, counted from 0,
    are those of the function there (-1: none).
    """

    to: int
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class EntryCode:
    """What the code of a function tells of how it is called: see ``gdb_scripts/dualdbg_helpers/entry_code.py``.

    ``not_hidden``: no hidden argument says where the result is to be made. ``outside`` as in :class:`KeptArguments`.
    ``passed_on``: of a function that does nothing but pass arguments on.
    """

    evidence: Mapping[str, Any] | None
    not_hidden: bool
    outside: tuple[int, ...] = ()
    passed_on: PassedOn | None = None


@dataclass(frozen=True)
class RegisterText:
    """A register's content as gdb prints it."""

    name: str
    value: str


@dataclass(frozen=True)
class MemoryRange:
    """Where a value lies, and its size in bytes."""

    address: int
    size: int


@dataclass(frozen=True)
class NativeVariable:
    """A C++ value as gdb shows it. ``handle`` stands for it until the target runs; None when it has no children.

    ``expression`` evaluates to it again, where there is one.
    """

    name: str
    type: str
    value: str
    handle: int | None
    address: int | None
    expression: str | None = None


@dataclass(frozen=True)
class ObjectRow:
    """A Python object, or another value that the helpers decode from memory.

    ``total`` is how many children it has, ``children`` those that were read with it. ``kind`` is the decoder's word
    for what it is; ``data`` has more of its structure; ``layout`` says how the decoder knew where its members lie.
    """

    name: str
    type: str
    value: str
    address: int | None
    total: int | None
    data: Mapping[str, Any] | None = None
    kind: str = ""
    layout: str | None = None
    children: tuple[ObjectRow, ...] | None = None


@dataclass(frozen=True)
class ObjectPage:
    """Some children of a Python object, and how many there are."""

    rows: tuple[ObjectRow, ...]
    total: int


@dataclass(frozen=True)
class ObjectPath:
    """The object at the end of a path of attributes and elements.

    ``address`` is None where a step fails. Then ``type`` is the type that does not have ``missing`` in its memory.
    """

    address: int | None
    type: str = ""
    missing: str = ""


@dataclass(frozen=True)
class HelperAnswer:
    """The answer of a helper's command: a value, or an error and what to do about it."""

    value: ObjectRow | None
    error: str = ""
    hint: str = ""
