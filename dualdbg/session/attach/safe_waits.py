"""Threads that sleep where the interpreter itself runs Python code when a signal wakes them (PEP 475).

There the GIL is released, and no lock of the C library is held. Such a wait is known by the function that waits; where
its name was stripped, or the function inlined, by the method of Python that it is: the interpreter has a table of its
methods, with their names, in memory.
"""

from __future__ import annotations

import struct

from ...errors import UnreadableMemory
from ...known.short_names import in_source
from ...model import NativeFrame
from ...shared.libraries import is_c_library, is_standard_module
from ...snapshot.capture import Captured
from ...snapshot.facts import ProcessReport, ThreadReport
from ...snapshot.linux.memory import Memory
from ...symbols.address_space import Module

# Functions of the interpreter that release the GIL, sleep in a system call, and on a signal run Python handlers.
SAFE_WAITS = frozenset(
    {
        *("time_sleep", "pysleep", "floatsleep", "acquire_timed", "lock_PyThread_acquire_lock"),
        *("rlock_acquire", "select_poll_poll", "select_epoll_poll", "select_select"),
        *("select_select_impl", "select_epoll_poll_impl", "select_poll_poll_impl", "_Py_read"),
        *("os_waitpid", "os_waitpid_impl", "os_wait4", "signal_pause", "signal_sigwait"),
        *("internal_select", "sock_call_impl", "sock_call_ex", "ThreadHandle_join"),
        *("PyThreadHandleObject_join",),
    }
)
# The methods that these functions are, or that call them and nothing else that sleeps.
_SAFE_METHODS = frozenset(
    {
        *("sleep", "acquire", "__enter__", "acquire_lock", "join", "select", "poll", "waitpid"),
        *("wait4", "pause", "sigwait", "_accept", "recv", "recv_into", "recvfrom", "recvfrom_into"),
        *("recvmsg", "get"),
    }
)
# What lies between a wait for a lock and the system call. A wait for the GIL comes by none of these.
_BETWEEN = frozenset(
    {
        *("PyThread_acquire_lock_timed", "PyThread_acquire_lock_timed_with_retries"),
        *("_PyMutex_LockTimed", "PyEvent_WaitTimed", "_PySemaphore_PlatformWait", "_PySemaphore_Wait"),
        *("_PyParkingLot_Park",),
    }
)
_PF_W = 2


def sleeping_safely(report: ProcessReport, captured: Captured) -> ThreadReport | None:
    """A thread that sleeps in one of the interpreter's own waits, if possible the main thread.

    None also while a thread holds the GIL in native code: a call that needs the GIL might never return then. A thread
    that runs Python gives the GIL back within the switch interval.
    """
    holder = next((thread for thread in report.threads if thread.thread.holds_gil), None)
    if holder is not None and is_native(holder):
        return None
    return next((thread for thread in report.threads if _sleeps_safely(thread, captured)), None)


def runs_main_interpreter(tid: int, captured: Captured) -> bool:
    """Whether the thread has run Python code, and only in the main interpreter.

    What is called in a thread of a sub-interpreter would come to that. Such a thread may have two thread states.
    """
    state, python = captured.states.get(tid), captured.python
    if state is None or python is None:
        return False
    return all(one.interpreter == python.main for one in python.threads if one.pthread == state.pthread)


def is_native(thread: ThreadReport) -> bool:
    """Whether the thread is in native code, called from Python or not."""
    visible = thread.stack.visible()
    return not visible or isinstance(visible[0], NativeFrame)


def _sleeps_safely(thread: ThreadReport, captured: Captured) -> bool:
    if thread.system_call is None or thread.thread.waits_for_gil or thread.thread.holds_gil:
        return False
    if not runs_main_interpreter(thread.thread.tid, captured):
        return False
    assert captured.interpreter is not None
    by_lock = False
    for frame in thread.stack.frames:
        if not isinstance(frame, NativeFrame):
            return False
        if is_c_library(frame.library):
            continue
        function = in_source(frame.function)
        if function in _BETWEEN:
            by_lock = True
            continue
        if frame.library != captured.interpreter.module and not is_standard_module(frame.library or ""):
            return False
        if function in SAFE_WAITS:
            return True
        if thread.system_call.name == "futex" and not by_lock:
            return False  # it may wait for the GIL, on the way back to Python
        method = _method_of(frame, captured)
        if method is not None:
            return method in _SAFE_METHODS
    return False


def _method_of(frame: NativeFrame, captured: Captured) -> str | None:
    """The name of the Python method that a frame's function is; None of a function that is none."""
    module = next((one for one in captured.modules if one.start <= frame.pc < one.end), None)
    if module is None or module.library is None:
        return None
    function = module.library.frames.find(frame.pc - frame.is_call - module.bias)
    if function is None:
        return None
    try:
        return method_name(captured.memory, module, function.start + module.bias)
    except UnreadableMemory:
        return None


def method_name(memory: Memory, module: Module, function: int) -> str | None:
    """The name of the method that a function of ``module`` is; None of a function that is none.

    Each method has a PyMethodDef: ``ml_name``, then ``ml_meth`` (Include/methodobject.h).
    """
    assert module.library is not None
    wanted = struct.pack("<Q", function)
    for segment in module.library.elf.loads():
        if not segment.flags & _PF_W:
            continue
        start = module.bias + segment.address
        data = memory.read(start, segment.file_size)
        at = data.find(wanted)
        while at >= 8:
            (name,) = struct.unpack_from("<Q", data, at - 8)
            text = memory.text(name) if (start + at) % 8 == 0 and module.start <= name < module.end else ""
            if text.isidentifier():
                return text
            at = data.find(wanted, at + 1)
    return None
