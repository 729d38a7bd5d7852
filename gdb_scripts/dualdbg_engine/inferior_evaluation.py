"""Runs Python code in the inferior, by calls of CPython's C functions from a thread that stands still.

The other threads run meanwhile. A gdb whose session is dead waits for the end of such a call (leaving.py).
"""

from __future__ import annotations

import contextlib
from typing import Callable, Iterator, Mapping

import gdb
from dualdbg_helpers import language
from dualdbg_shared.requests.process import CallProbe, CallProbeForText, RunPython

from .calls import without_breakpoints
from .leaving import calling
from .registry import answers
from .threads import select_innermost

_Call = Callable[..., int]
# Of dualdbg/target/bootstrap/dualdbg_probe.py.
_MARK = b"dualdbg mailbox\0"
_ROOM_OF_EXCEPTION = 24  # bytes


@answers(CallProbe)
def call_probe(
    gdb_thread: int, functions: Mapping[str, int], method: str, argument: str, mailbox: int
) -> int:
    """Call ``pydevd.dualdbg_probe.METHOD(ARGUMENT)`` in thread ``gdb_thread``, which holds the GIL.

    ``functions`` maps the names of the C functions that this needs to their addresses; ``mailbox`` is the address of
    the probe's, 0 where that is not known. A pending exception of the thread, and errno, are the same afterwards.
    Returns the number that the method returns, 0 where it fails.
    """
    with _calls_in(gdb_thread, functions) as call:
        box = _Mailbox.at(mailbox) or _Mailbox.at(_mailboxes.get(_pid(), 0))
        # Asked for before the call that is wanted: pydevd, once armed, is to see nothing more of ours.
        if box is None:
            _call_probe(call, "mailbox", "", lambda result: _remember(call("PyLong_AsLong", result)))
            box = _Mailbox.at(_mailboxes.get(_pid(), 0))
        return box.send(call, method, argument) if box is not None else 0


@contextlib.contextmanager
def _calls_in(number: int, functions: Mapping[str, int]) -> Iterator[_Call]:
    """A function that calls C functions in thread ``number``: by name, with words. The user sees none of it."""
    select_innermost(number)
    errno_location = functions["__errno_location"]

    def call(name: str, *arguments: int) -> int:
        words = ",".join("(long)%d" % word for word in arguments)
        return int(language.evaluate("((long(*)())%d)(%s)" % (functions[name], words)))

    with without_breakpoints(), calling(), _errno_kept(call, errno_location):
        yield call


@contextlib.contextmanager
def _errno_kept(call: _Call, function: int) -> Iterator[None]:
    inferior = gdb.selected_inferior()
    errno = _place_of_errno(call, function)
    saved = inferior.read_memory(errno, 4).tobytes()
    yield
    inferior.write_memory(errno, saved)


_THREAD_POINTERS = {"i386": "fs_base", "aarch64": "tpidr"}
# From the thread pointer, the same in each thread; by process, and the function that says it: exec changes both.
_errno_offsets: dict[tuple[int, int], int] = {}


def _place_of_errno(call: _Call, function: int) -> int:
    """Where errno of the selected thread is. It is asked for once, where the thread pointer is known."""
    frame = gdb.newest_frame()
    name = _THREAD_POINTERS.get(frame.architecture().name().partition(":")[0])
    try:
        pointer = int(frame.read_register(name)) if name is not None else None
    except (gdb.error, ValueError):  # gdb does not know it of this target
        pointer = None
    if pointer is None:
        return call("__errno_location")
    key = _pid(), function
    if key not in _errno_offsets:
        _errno_offsets[key] = call("__errno_location") - pointer
    return _errno_offsets[key] + pointer


def _pid() -> int:
    return int(gdb.selected_inferior().pid)


_mailboxes: dict[int, int] = {}  # by process


def _remember(mailbox: int) -> None:
    _mailboxes[_pid()] = mailbox


class _Mailbox:
    """The probe's mailbox (dualdbg/target/bootstrap/dualdbg_probe.py): a call by it costs gdb one C function or two."""

    def __init__(self, address: int, memory: int, size: int) -> None:
        self._address = address
        self._memory = memory
        self._size = size

    @classmethod
    def at(cls, address: int) -> _Mailbox | None:
        """The mailbox at an address; None where there is none any more, for the program has replaced itself."""
        if not address:
            return None
        try:
            head = gdb.selected_inferior().read_memory(address, 64 + len(_MARK)).tobytes()
        except gdb.MemoryError:
            return None
        offset = head.find(_MARK)
        if offset < 16:
            return None
        # PyBytesObject: ob_size, ob_shash, ob_sval.
        size = int.from_bytes(head[offset - 16 : offset - 8], "little")
        return cls(address, address + offset, size)

    def send(self, call: _Call, method: str, argument: str) -> int:
        """The number that the method returns, 0 where it fails."""
        inferior = gdb.selected_inferior()
        exception = self._memory + len(_MARK)
        text = b"%s\0%s\0" % (method.encode(), argument.encode())
        if len(text) > self._size - len(_MARK) - _ROOM_OF_EXCEPTION:
            raise gdb.GdbError("%d bytes are too many for the mailbox of the probe" % len(text))
        words = exception, exception + 8, exception + 16
        inferior.write_memory(exception, bytes(_ROOM_OF_EXCEPTION) + text)
        pending = call("PyErr_Occurred")
        if pending:
            call("PyErr_Fetch", *words)
        number = call("PyObject_Size", self._address)
        if pending or number < 0:
            saved = inferior.read_memory(exception, _ROOM_OF_EXCEPTION).tobytes()
            call("PyErr_Restore", *(int.from_bytes(saved[at : at + 8], "little") for at in (0, 8, 16)))
        return max(number, 0)


def _call_probe(call: _Call, method: str, argument: str, keep: Callable[[int], None]) -> None:
    """The same by functions that need no mailbox; ``keep`` is called with the result."""
    inferior = gdb.selected_inferior()
    texts = [text.encode() + b"\0" for text in ("pydevd", "dualdbg_probe", method, "s", argument)]
    size = 32 + sum(map(len, texts))
    block = call("PyMem_RawMalloc", size)
    if not block:
        raise gdb.GdbError("the target has no memory left")
    places = []
    at = block + 32
    for text in texts:
        inferior.write_memory(at, text)
        places.append(at)
        at += len(text)
    call("PyErr_Fetch", block, block + 8, block + 16)
    module = call("PyImport_AddModule", places[0])
    probe = call("PyObject_GetAttrString", module, places[1]) if module else 0
    result = call("PyObject_CallMethod", probe, places[2], places[3], places[4]) if probe else 0
    if result:
        keep(result)
    for owned in (result, probe):
        if owned:
            call("Py_DecRef", owned)
    saved = inferior.read_memory(block, 24).tobytes()
    call("PyErr_Restore", *(int.from_bytes(saved[at : at + 8], "little") for at in (0, 8, 16)))
    call("PyMem_RawFree", block)


@answers(CallProbeForText)
def probe_text(gdb_thread: int, functions: Mapping[str, int], method: str, argument: str) -> str:
    texts: list[str] = []

    with _calls_in(gdb_thread, functions) as call:

        def keep(result: int) -> None:
            address = call("PyUnicode_AsUTF8", result)
            if address:
                character = language.find_type("unsigned char").pointer()
                texts.append(gdb.Value(address).cast(character).string("utf-8"))

        _call_probe(call, method, argument, keep)
    if not texts:
        raise gdb.GdbError("the interpreter could not run it")
    return texts[0]


@answers(RunPython)
def run_text(gdb_thread: int, ensure: int, run: int, release: int, text: int) -> None:
    """``PyRun_SimpleString(text)`` in thread ``gdb_thread``, which sleeps without the GIL where Python may run.

    The addresses are those of PyGILState_Ensure, PyRun_SimpleString and PyGILState_Release. All threads run during the
    calls: another thread may hold the GIL at that moment, and has to give it back.
    """
    select_innermost(gdb_thread)

    def call(function: int, argument: str = "") -> int:
        return int(language.evaluate("((int(*)())%d)(%s)" % (function, argument)))

    with calling():
        state = call(ensure)
        try:
            call(run, "(char*)%d" % text)
        finally:
            call(release, "(int)%d" % state)
