"""Values: those of C++, Python objects in memory, and the answers of the helpers' commands.

``style`` is gdb's letter of a format (x, o, d, t, c); empty for the usual one. A handle stands for a value until
:class:`ForgetValues`.
"""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from .base import Request


class NativeVariable(NamedTuple):
    """A C++ value as gdb shows it. ``handle`` stands for it until the target runs; None when it has no children.

    ``expression`` evaluates to it again, where there is one.
    """

    name: str
    type: str
    value: str
    handle: Optional[int]
    address: Optional[int]
    expression: Optional[str] = None


class MemoryRange(NamedTuple):
    """Where a value lies, and its size in bytes."""

    address: int
    size: int


class ObjectRow(NamedTuple):
    """A Python object, or another value that the helpers decode from memory.

    ``total`` is how many children it has, ``children`` those that were read with it. ``kind`` is the decoder's word
    for what it is; ``data`` has more of its structure, in any form of JSON; ``layout`` says how the decoder knew where
    its members lie.
    """

    name: str
    type: str
    value: str
    address: Optional[int]
    total: Optional[int]
    data: Any = None
    kind: str = ""
    layout: Optional[str] = None
    children: Optional[Sequence[ObjectRow]] = None


class ObjectPage(NamedTuple):
    """Some children of a Python object, and how many there are."""

    rows: Sequence[ObjectRow]
    total: int


class ObjectPath(NamedTuple):
    """The object at the end of a path of attributes and elements.

    ``address`` is None where a step fails. Then ``type`` is the type that does not have ``missing`` in its memory.
    """

    address: Optional[int]
    type: str = ""
    missing: str = ""


class HelperAnswer(NamedTuple):
    """The answer of a helper's command: a value, or an error and what to do about it."""

    value: Optional[ObjectRow]
    error: str = ""
    hint: str = ""


class ListVariables(Request[List[NativeVariable]], module="values"):
    """Return arguments and locals of a frame, from debug info; none without debug info."""

    gdb_thread: int
    level: int
    style: str = ""


class ListArgumentNames(Request[Optional[List[str]]], module="values"):
    """Return the names of the arguments of a frame, as :class:`ListVariables` has them; None: not known."""

    gdb_thread: int
    level: int


class Evaluate(Request[NativeVariable], module="values"):
    """Return the value of a C++ expression in a frame.

    gdb undoes a call in it that a signal ends, or that takes more than ``seconds``, and breakpoints do not hold in it;
    where that is None they do.
    """

    gdb_thread: int
    level: int
    expression: str
    style: str = ""
    seconds: Optional[float] = None

    @property
    def undone(self) -> bool:
        """As :attr:`Request.undone`."""
        return self.seconds is not None


class ListChildren(Request[List[NativeVariable]], module="values"):
    """Return at most ``limit`` members of the value of a handle, from number ``offset`` on; by default in its style."""

    handle: int
    offset: int
    limit: int
    style: str = ""


class Assign(Request[NativeVariable], module="values", undone=True):
    """Set a local, or the child ``name`` of the handle ``parent``, to the value of a C++ expression."""

    gdb_thread: int
    level: int
    parent: Optional[int]
    name: str
    text: str
    seconds: float


class FindMemoryRange(Request[MemoryRange], module="values"):
    """Return where a variable lies (named as for :class:`Assign`), or the value of ``expression``."""

    gdb_thread: int
    level: int
    parent: Optional[int]
    name: str
    expression: Optional[str]


class AllowCalls(Request[None], module="values"):
    """Say whether expressions may call functions of the program; a refusal is gdb's own then."""

    allowed: bool


class ForgetValues(Request[None], module="values"):
    """Drop the values of all handles."""


class Complete(Request[List[str]], module="values"):
    """Return what gdb would complete an expression to, as whole texts."""

    gdb_thread: int
    level: int
    text: str


class ReadPythonObjects(Request[List[ObjectRow]], module="python_objects"):
    """Return the objects at these addresses, by name; ``whole``: as far as the user's limits allow, else short."""

    named: Sequence[Tuple[str, int]]
    whole: bool


class ReadPythonChildren(Request[ObjectPage], module="python_objects"):
    """Return at most ``limit`` children of a Python object, from number ``offset`` on."""

    address: int
    offset: int
    limit: int


class FollowPythonPath(Request[ObjectPath], module="python_objects"):
    """Return the object that attributes (``.name``) and elements (``[key]``) lead to, one step after the other."""

    address: int
    steps: Sequence[str]


class RunHelper(Request[HelperAnswer], module="torch_commands", takes_long=True):
    """Return the answer of a helper's command (``tensor``, ``ivalue``) in a frame; some need no thread."""

    gdb_thread: Optional[int]
    level: int
    name: str
    argument: str


class LoadHelpers(Request[None], module="torch_commands"):
    """Let gdb itself know the settings and commands of ``dualdbg_helpers`` from now on."""
