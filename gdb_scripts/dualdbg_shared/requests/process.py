"""The process: stopping it, letting go of it, calls in it for the debugger, its replacement by another program."""

from __future__ import annotations

from typing import Mapping, Optional, Sequence

from .base import Request


class InterruptBy(Request[None], module="interrupting"):
    """Stop the target by the signal of this name, which it does not notice."""

    name: str


class Leave(Request[None], module="leaving"):
    """Let go of the process and end gdb: nobody is there any more who asks it for anything."""


class LeaveOnSignals(Request[None], module="leaving"):
    """SIGTERM and SIGHUP no longer end gdb in the middle of what it does with the target."""


class LetGo(Request[None], module="leaving"):
    """Detach from the process, which is stopped, and it gets no signal by that."""


class MayLetGo(Request[bool], module="leaving"):
    """Return whether no thread has a stop of gdb's to take first, for which the target has to run for a moment."""


class TakePending(Request[None], module="leaving"):
    """Let the target run for that moment. gdb's answer to such a command comes before the command has ended."""


class Park(Request[None], module="parking"):
    """Let these threads wait at the system call instruction at an address while the target runs."""

    gdb_threads: Sequence[int]
    instruction: int


class Unpark(Request[None], module="parking"):
    """Give each parked thread its own registers again."""


class CallProbe(Request[int], module="inferior_evaluation"):
    """Call a method of the probe in a thread that holds the GIL; return its number, 0 if it fails.

    ``functions`` has the addresses of ``PROBE_FUNCTIONS`` (dualdbg/backends/native.py). ``mailbox`` is the address of
    the probe's mailbox, 0 where that is not known.
    """

    gdb_thread: int
    functions: Mapping[str, int]
    method: str
    argument: str
    mailbox: int


class CallProbeForText(Request[str], module="inferior_evaluation"):
    """As :class:`CallProbe`, for an argument of any length; return the text of the method."""

    gdb_thread: int
    functions: Mapping[str, int]
    method: str
    argument: str


class RunPython(Request[None], module="inferior_evaluation"):
    """Run the Python code at address ``text`` in a thread that sleeps without the GIL.

    The first three are the addresses of PyGILState_Ensure, PyRun_SimpleString and PyGILState_Release. It is one
    request, so that the GIL is given back even when dualdbg ends meanwhile.
    """

    gdb_thread: int
    ensure: int
    run: int
    release: int
    text: int


class ForgetProgram(Request[None], module="new_program"):
    """The target has replaced itself with another program: nothing that was set in the earlier one is left."""


class ReadEnvironmentVariable(Request[Optional[str]], module="new_program"):
    """Return the value of a variable of the environment, while the new program stands before its first instruction."""

    name: str


class SetEnvironment(Request[None], module="new_program"):
    """Set variables of its environment there. /proc/PID/environ stays as it was."""

    values: Mapping[str, str]
