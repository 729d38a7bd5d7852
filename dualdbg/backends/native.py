"""The questions of the session to the native engine, and the answers: plain facts, each with its own type."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

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
class RegisterText:
    """A register's content as gdb prints it."""

    name: str
    value: str
