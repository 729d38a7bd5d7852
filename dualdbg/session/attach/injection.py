"""Chooses how Python code gets into a stopped process, and prepares it: the text, its place in memory, and the way.

There are three ways, all sound: the interface that 3.14 and later have for it (PEP 768), and before that an entry in
the interpreter's queue of pending calls, both taken at its next safe point; and a call by gdb in a thread that sleeps
in one of the interpreter's own waits (``safe_waits``). Code is never run at any other place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import TargetError, UnreadableMemory
from ...shared import page_size
from ...shared.libraries import is_loader
from ...snapshot.capture import Captured
from ...snapshot.facts import ProcessReport, ThreadReport
from ...snapshot.linux.memory import Memory
from ...symbols.address_space import Module
from ...target.calls import Folder
from ...target.launcher import BOOTSTRAP
from .pending_call import Write, main_interpreter, plan, request_script
from .safe_waits import is_native, runs_main_interpreter

_PF_W = 2
_PAGE = page_size.of_this_machine()
_KEPT = 64  # bytes behind what the file has that we do not use either


def find_scratch(memory: Memory, modules: Sequence[Module], size: int) -> int:
    """The address of ``size`` bytes. Raises TargetError when no file of the process has room for them."""
    cleared = (
        end for module in modules[1:] if not is_loader(module.path) for end in _ends(module, writable=True)
    )
    behind_code = (end for module in modules for end in _ends(module, writable=False))
    for ends, zeros in ((cleared, True), (behind_code, False)):
        for end in ends:
            limit = -(-end // _PAGE) * _PAGE
            if limit - end < size + _KEPT:
                continue
            try:
                data = memory.read(end, limit - end)
            except UnreadableMemory:
                continue
            if not zeros or not any(data):
                return limit - size
    raise TargetError("no file of the process has room in memory for the text that is to be run")


def _ends(module: Module, writable: bool) -> Iterator[int]:
    """Where the parts of a mapped file end that are writable, or are not."""
    for segment in module.library.elf.loads() if module.library is not None else ():
        if bool(segment.flags & _PF_W) == writable:
            yield module.bias + segment.address + segment.memory_size


# What runs it, among the names of the program's main module: it binds none of them, and uses one. A file that is left
# open would be a ResourceWarning. Short: some programs have little room.
_TEXT = """\
try:(lambda b,f:b.exec((f.read(),f.close())[0],{{}}))(__import__('builtins'),__import__('io').open_code({path}))
except:0
"""
# Run by the process. It says itself that it cannot read our files, because it is another user's, or that it has no
# standard library (PyInstaller packs what the program imports): nobody else can.
_ATTACH = """
settings, path = {settings}, {path}
try:
    with open(path) as file:
        code = compile(file.read(), path, 'exec')
    exec(code, {{'settings': settings, '__name__': 'dualdbg_attach'}})
except (OSError, ImportError) as error:
    import os, socket
    why = 'the program lacks a part of the standard library, as a packed one does (PyInstaller): %s' % error
    if isinstance(error, OSError):
        why = 'the process, of user %d, cannot read %s: %s' % (os.geteuid(), error.filename, error.strerror)
    address = settings['address']
    if isinstance(address, str):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address)
    else:
        connection = socket.create_connection(tuple(address))
    why = why.replace('\\\\', '/').replace('"', "'")
    connection.sendall(('{{"token": "%s", "failed": "%s"}}\\n' % (settings['target_token'], why)).encode())
    connection.close()
"""


@dataclass
class Injection:
    """A text in the target that is to be run, and the files that it needs.

    ``before`` is what was in its place. ``request`` is the address of a pending request of PEP 768, where one was made.
    """

    text_address: int
    before: bytes
    folder: Folder
    script: str
    writes: list[Write] = field(default_factory=list)
    request: int | None = None

    @property
    def put_back(self) -> list[Write]:
        """For the memory of a text that has run."""
        return [Write(self.text_address, self.before)]

    @property
    def emptied(self) -> list[Write]:
        """The same for one that may still be in the queue: an empty text does nothing then."""
        return [Write(self.text_address, b"\0" + self.before[1:])]

    def remove_files(self) -> None:
        """Remove the files that the text needs."""
        self.folder.remove()


def prepare(captured: Captured, settings: dict[str, Any]) -> Injection:
    """The text with its place, and its files. Nothing is written to the target yet.

    Raises TargetError where the process has no room, or its interpreter cannot be steered.
    """
    _check_allowed(captured)
    folder = _write_files(settings, captured)
    try:
        path = str(folder.there / "attach.py")
        text = _TEXT.format(path=repr(path))
        data = text.encode() + b"\0"
        address = find_scratch(captured.memory, captured.modules, len(data))
        before = captured.memory.read(address, len(data))
    except BaseException:
        folder.remove()
        raise
    return Injection(address, before, folder, path, [Write(address, data)])


def _check_allowed(captured: Captured) -> None:
    """Raises TargetError where the user has switched off that others run Python code in the process (PEP 768)."""
    assert captured.interpreter is not None and captured.python is not None
    layout, memory = captured.python.layout, captured.memory
    if layout.remote is None:
        return
    interpreter = main_interpreter(memory, layout, captured.interpreter.runtime)
    if not memory.i32(interpreter + layout.remote.enabled):
        raise TargetError(
            "its Python was started with -X disable-remote-debug, or with PYTHON_DISABLE_REMOTE_DEBUG set",
            "start the program without it, or with dualdbg run",
        )


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


def queue_writes(captured: Captured, report: ProcessReport, injection: Injection) -> list[Write]:
    """What to write so that the text is run at a safe point. Raises QueueBusy or TargetError."""
    assert captured.interpreter is not None and captured.python is not None
    memory, layout, runtime = captured.memory, captured.python.layout, captured.interpreter.runtime
    if layout.remote is not None:
        thread = _thread_to_ask(report, captured)
        injection.request = thread + layout.remote.pending_call
        return request_script(memory, layout.remote, thread, injection.script)
    if layout.version == (3, 8) and not takers_of(report, captured):
        raise TargetError(
            "the main thread runs the code of a sub-interpreter, which would run what is queued in Python 3.8",
            "attach again when it is back in the main interpreter",
        )
    function = address_of(interpreter_module(captured), "PyRun_SimpleString")
    calls = plan(memory, layout, runtime, function, injection.text_address)
    return [*injection.writes, *calls]


def takers_of(report: ProcessReport, captured: Captured) -> list[ThreadReport]:
    """The threads that may run what :func:`queue_writes` has queued, whichever comes to a safe point first.

    Up to 3.11 that is the main thread, in 3.12 and 3.13 any, and from 3.14 on the one that is asked.
    """
    assert captured.python is not None
    threads = [one for one in report.threads if runs_main_interpreter(one.thread.tid, captured)]
    threads.sort(key=lambda one: one.thread.tid != report.pid)
    if (3, 12) <= captured.python.layout.version < (3, 14):
        return threads
    if captured.python.layout.remote is not None:
        # A thread in native code may stay there: who has the GIL or is in Python code comes first.
        threads.sort(key=lambda one: (not one.thread.holds_gil, is_native(one)))
    return threads[:1]


def _thread_to_ask(report: ProcessReport, captured: Captured) -> int:
    """The address of the thread state of the thread that is asked to run the script.

    A thread that runs a sub-interpreter's code just now is asked for when it comes back to the main one's.
    """
    assert captured.python is not None
    takers = takers_of(report, captured)
    if takers:
        return captured.states[takers[0].thread.tid].address
    of_main = [one.address for one in captured.python.threads if one.interpreter == captured.python.main]
    if not of_main:
        raise TargetError("no thread of the process has run Python code")
    return of_main[0]


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
