"""Chooses how Python code gets into a stopped process, and prepares it: the text, its place in memory, and the way.

There are three ways, all sound: the interface that 3.14 has for it; an entry in the interpreter's queue of pending
calls, taken at its next safe point; and a call by gdb in a thread that sleeps in one of the interpreter's own waits.
There the interpreter itself runs Python code when a signal wakes it (PEP 475): the GIL is released, and no lock of
the C library is held. Code is never run at any other place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...errors import TargetError
from ...model import NativeFrame
from ...shared.libraries import is_c_library, is_standard_module
from ...snapshot.capture import Captured
from ...snapshot.facts import ProcessReport, ThreadReport
from ...symbols.address_space import Module
from ...target.calls import Folder
from ...target.launcher import BOOTSTRAP
from .pending_call import Write, plan
from .scratch import find_scratch

# Functions of the interpreter that release the GIL, sleep in a system call, and on a signal run Python handlers.
SAFE_WAITS = frozenset(
    {
        *("time_sleep", "pysleep", "floatsleep"),
        *("acquire_timed", "lock_PyThread_acquire_lock", "rlock_acquire"),
        *("select_poll_poll", "select_epoll_poll", "select_select", "select_select_impl"),
        *("select_epoll_poll_impl", "select_poll_poll_impl"),
        *("_Py_read", "os_waitpid", "os_waitpid_impl", "os_wait4", "signal_pause", "signal_sigwait"),
        *("internal_select", "sock_call_impl", "sock_call_ex"),
    }
)
# Run by the process. It says itself that it cannot read our files, because it is another user's: nobody else can.
_ATTACH = """
settings, path = {settings}, {path}
try:
    exec(compile(open(path).read(), path, 'exec'), {{'settings': settings, '__name__': 'dualdbg_attach'}})
except OSError as error:
    import json, os, socket
    why = 'the process, of user %d, cannot read %s: %s' % (os.geteuid(), error.filename, error.strerror)
    address = settings['address']
    if isinstance(address, str):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address)
    else:
        connection = socket.create_connection(tuple(address))
    connection.sendall(json.dumps({{'token': settings['target_token'], 'failed': why}}).encode() + b'\\n')
    connection.close()
"""
_BETWEEN = frozenset({"PyThread_acquire_lock_timed", "_PySemaphore_PlatformWait"})


@dataclass
class Injection:
    """A text in the target that is to be run, and the files that it needs."""

    text_address: int
    size: int
    folder: Folder
    writes: list[Write] = field(default_factory=list)

    @property
    def undo(self) -> list[Write]:
        """Empty the text. What is still in the queue does nothing then."""
        return [Write(self.text_address, bytes(self.size))]

    def remove_files(self) -> None:
        """Remove the files that the text needs."""
        self.folder.remove()


def prepare(captured: Captured, settings: dict[str, Any]) -> Injection:
    """The text with its place, and its files. Nothing is written to the target yet.

    Raises TargetError where the process has no room, or its interpreter cannot be steered.
    """
    folder = _write_files(settings, captured)
    try:
        path = str(folder.there / "attach.py")
        text = f"try:exec(open({path!r}).read(),{{}})\nexcept:0\n"  # short: some programs have little room
        data = text.encode() + b"\0"
        address = find_scratch(captured.memory, captured.modules, len(data))
    except BaseException:
        folder.remove()
        raise
    return Injection(address, len(data), folder, [Write(address, data)])


def _write_files(settings: dict[str, Any], captured: Captured) -> Folder:
    """A folder that only the target's user may look into. It holds the tokens of the session. Raises TargetError."""
    owner = captured.facts.owner
    path = str(BOOTSTRAP / "dualdbg_attach.py")
    text = _ATTACH.format(settings=repr(settings), path=repr(path))
    try:
        folder = Folder.make(captured.facts.pid)
        try:
            script = folder.here / "attach.py"
            script.write_text(text, encoding="utf-8")
            folder.give(script, owner)
        except OSError:
            folder.remove()
            raise
    except OSError as error:
        raise TargetError(
            f"no file could be written that process {captured.facts.pid} can read: {error.strerror or error}",
            "TMPDIR=DIR names a folder with room that both can see",
        ) from error
    return folder


def queue_writes(captured: Captured, injection: Injection) -> list[Write]:
    """What to write so that the text is in the interpreter's queue. Raises QueueBusy or TargetError."""
    assert captured.interpreter is not None and captured.python is not None
    module = interpreter_module(captured)
    function = address_of(module, "PyRun_SimpleString")
    return plan(
        captured.memory,
        captured.python.layout,
        captured.interpreter.runtime,
        function,
        injection.text_address,
    )


def interpreter_module(captured: Captured) -> Module:
    """The mapped file that holds the interpreter: its executable or libpython."""
    assert captured.interpreter is not None
    return next(module for module in captured.modules if module.path == captured.interpreter.module)


def address_of(module: Module, name: str) -> int:
    """The absolute address of an exported function. Raises TargetError when the interpreter has none."""
    assert module.library is not None
    found = module.library.find_functions(name, exact=True)
    if not found:
        raise TargetError(f"{module.path} has no function {name}")
    return found[0].address + module.bias


def sleeping_safely(report: ProcessReport, interpreter_files: frozenset[str]) -> ThreadReport | None:
    """A thread that sleeps in one of the interpreter's own waits, if possible the main thread.

    None also while a thread holds the GIL in native code: a call that needs the GIL might never return then. A thread
    that runs Python gives the GIL back within the switch interval.
    """
    holder = next((thread for thread in report.threads if thread.thread.holds_gil), None)
    if holder is not None and is_native(holder):
        return None
    return next((thread for thread in report.threads if _sleeps_safely(thread, interpreter_files)), None)


def is_native(thread: ThreadReport) -> bool:
    """Whether the thread is in native code, called from Python or not."""
    visible = thread.stack.visible()
    return not visible or isinstance(visible[0], NativeFrame)


def _sleeps_safely(thread: ThreadReport, interpreter_files: frozenset[str]) -> bool:
    if thread.system_call is None or thread.thread.waits_for_gil:
        return False
    for frame in thread.stack.frames:
        if not isinstance(frame, NativeFrame):
            return False
        if is_c_library(frame.library) or frame.function in _BETWEEN:
            continue
        is_interpreter = frame.library in interpreter_files or is_standard_module(frame.library or "")
        return is_interpreter and frame.function in SAFE_WAITS
    return False
