"""Frames of either language and the one stack they form."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import PurePath
from typing import Union


class Language(str, Enum):
    """The two languages of a target; "native" is everything that gdb sees."""

    PYTHON = "python"
    NATIVE = "native"


class Role(str, Enum):
    """What a frame is to the user who reads the stack."""

    USER = "user"
    GLUE = "glue"  # binding layers: pybind11 dispatchers, THPVariable_*, the dispatcher's wrappers
    PLUMBING = "plumbing"  # the interpreter's own C functions, and our own bootstrap: folded away


class Quality(str, Enum):
    """How sure the merged stack is; anything but FULL comes with a note that says why."""

    FULL = "full"
    PARTIAL = "partial"
    NATIVE_ONLY = "native-only"
    PYTHON_ONLY = "python-only"


@dataclass(frozen=True)
class ProgramLine:
    """A line of the program that generated code computes. ``code`` is what it said when that was generated."""

    file: str
    line: int
    function: str
    code: str


@dataclass(frozen=True)
class NativeFrame:
    """A frame of compiled code, as gdb unwound it.

    ``level`` is gdb's own number of the frame in its thread (0 is the innermost);
    ``pc`` the absolute address in the target; ``library`` the path of the file mapped there;
    ``sp`` the canonical frame address or stack pointer, where known, to order frames by;
    ``is_call`` is true where the pc is that to which a call returns: the call itself lies before it, and may be the
    last instruction of its function; false for the innermost frame, and for one that a signal interrupted;
    ``inlined`` is true for a frame that debug info reconstructs inside the next outer one;
    ``source_language`` is what its source is written in, where debug info or the linkage name tells: gdb's names
    (``c``, ``c++``, ``rust``, ``fortran``, ``asm``), and ``cython``;
    ``between`` is true for code that the compiler put between the author's lines, at which no step ends;
    ``evaluates`` says whether it is the interpreter's evaluation loop, where the loop's own record on the stack has
    told; None leaves it to the name;
    ``computes`` are the lines of the program that generated code computes, where that is known;
    ``offset`` is the pc's address in ``library``, as ``addr2line`` and ``nm`` count it, where the file is known.
    """

    level: int
    pc: int
    function: str | None = None
    library: str | None = None
    file: str | None = None
    line: int | None = None
    sp: int | None = None
    inlined: bool = False
    source_language: str | None = None
    between: bool = False
    role: Role = Role.USER
    evaluates: bool | None = None
    computes: tuple[ProgramLine, ...] = ()
    is_call: bool = False
    offset: int | None = None

    @property
    def language(self) -> Language:
        """NATIVE, always."""
        return Language.NATIVE

    @property
    def label(self) -> str:
        """The function; without a name ``?? (libfoo.so+0x1a2b)``, or ``?? (0x7f00)`` outside of any file."""
        if self.function:
            return self.function
        if self.library is None or self.offset is None:
            return f"?? ({self.pc:#x})"
        return f"?? ({PurePath(self.library).name}+{self.offset:#x})"


@dataclass(frozen=True)
class PythonFrame:
    """A frame of Python code.

    ``entry`` is true for the first Python frame of an evaluation loop's C frame (3.11 and later
    run many Python frames in one C frame; in 3.10 and earlier every frame is an entry frame);
    ``address`` is the interpreter's frame object in the target, where it was read from memory;
    ``engine_id`` is debugpy's frame id, where debugpy named it;
    ``loop`` is, of an entry frame, an address within the C frame of its loop (3.12 and later);
    ``evaluator`` is, of the innermost frame that a loop runs, the C frame that runs it, which has no place of its own
    in a merged stack;
    ``columns`` are those of the code that runs in the line, from 1 on, the end not included (3.11 and later, where
    debugpy named the frame);
    ``computes`` are the lines of the program that generated code computes, where that is known.
    """

    function: str
    file: str | None
    line: int | None
    entry: bool = False
    address: int | None = None
    engine_id: int | None = None
    role: Role = Role.USER
    loop: int | None = None
    columns: tuple[int, int] | None = None
    computes: tuple[ProgramLine, ...] = ()
    evaluator: NativeFrame | None = field(default=None, compare=False, repr=False)

    @property
    def language(self) -> Language:
        """PYTHON, always."""
        return Language.PYTHON

    @property
    def label(self) -> str:
        """The function."""
        return self.function


Frame = Union[NativeFrame, PythonFrame]


@dataclass(frozen=True)
class Stack:
    """The stack of one thread, innermost frame first, both languages in one order.

    ``thread`` is the OS thread id. ``frames`` holds every frame, plumbing included;
    front ends show :meth:`visible` unless asked for all. ``origin`` says what another thread did to start
    the work of this one, where that is known.
    """

    thread: int
    frames: tuple[Frame, ...]
    quality: Quality
    note: str | None = None
    origin: str | None = None

    def visible(self) -> tuple[Frame, ...]:
        """The frames a user wants to see: all but the interpreter's plumbing."""
        return tuple(frame for frame in self.frames if frame.role is not Role.PLUMBING)
