"""Words of the native engine; what is asked of it is declared in :mod:`dualdbg.shared.requests`."""

from __future__ import annotations

from enum import Enum, auto
from typing import Protocol, TypeVar

from ..shared.requests.base import Request

T = TypeVar("T")


class AskingGdb(Protocol):
    """Asks gdb. A refusal is a CommandError with gdb's words, a missing answer an EngineTimeout."""

    async def ask(self, request: Request[T], deadline: float | None = ...) -> T:
        """Return the answer to a request, which has ``deadline`` seconds instead of its own."""
        ...

    def tell(self, request: Request[None]) -> None:
        """Send a request behind all earlier ones, and wait for no answer. Raises EngineLost when gdb is gone."""


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


ARGUMENT_REGISTERS = {"x86-64": ("rdi", "rsi"), "aarch64": ("x0", "x1")}
"""gdb's names of the registers of the first two arguments, by architecture (System V ABI, AAPCS64)."""
