"""Runs Python code in the inferior, by calls of CPython's C functions from a thread that stands still.

The other threads run meanwhile. A gdb whose session is dead waits for the end of such a call (leaving.py).
"""

from __future__ import annotations

from typing import Callable

import gdb
from dualdbg_helpers import language

from .leaving import calling
from .threads import select_innermost

_Call = Callable[..., int]


def call_probe(
    number: int,
    functions: dict[str, int],
    method: str,
    argument: str,
    keep: Callable[[_Call, int], None] | None = None,
) -> int:
    """Call ``pydevd.dualdbg_probe.METHOD(ARGUMENT)`` in thread ``number``, which holds the GIL.

    ``functions`` maps the names of the C functions that this needs to their addresses. A pending exception of the
    thread, and errno, are the same afterwards. Returns the number that the method returns, 0 where it fails; with
    ``keep``, that is called with the result itself.
    """
    select_innermost(number)

    def call(name: str, *arguments: int) -> int:
        words = ",".join("(long)%d" % word for word in arguments)
        return int(language.evaluate("((long(*)())%d)(%s)" % (functions[name], words)))

    stopping = [point for point in gdb.breakpoints() if point.enabled]
    for point in stopping:  # the user does not want to see what the probe runs
        point.enabled = False
    try:
        with calling():
            return _call_probe(call, method, argument, keep)
    finally:
        for point in stopping:
            point.enabled = True


def _call_probe(call: _Call, method: str, argument: str, keep: Callable[[_Call, int], None] | None) -> int:
    inferior = gdb.selected_inferior()
    texts = [text.encode() + b"\0" for text in ("pydevd", "dualdbg_probe", method, "s", argument)]
    size = 32 + sum(map(len, texts))
    errno = call("__errno_location")
    saved_errno = inferior.read_memory(errno, 4).tobytes()
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
    number = 0
    if result and keep is not None:
        keep(call, result)
    elif result:
        number = call("PyLong_AsLong", result)
    for owned in (result, probe):
        if owned:
            call("Py_DecRef", owned)
    saved = inferior.read_memory(block, 24).tobytes()
    call("PyErr_Restore", *(int.from_bytes(saved[at : at + 8], "little") for at in (0, 8, 16)))
    call("PyMem_RawFree", block)
    inferior.write_memory(errno, saved_errno)
    return number


def probe_text(number: int, functions: dict[str, int], method: str, argument: str) -> str:
    """As :func:`call_probe`: the string that the method returns; errors are gdb's."""
    texts: list[str] = []

    def keep(call: _Call, result: int) -> None:
        address = call("PyUnicode_AsUTF8", result)
        if address:
            character = language.find_type("unsigned char").pointer()
            texts.append(gdb.Value(address).cast(character).string("utf-8"))

    call_probe(number, functions, method, argument, keep)
    if not texts:
        raise gdb.GdbError("the interpreter could not run it")
    return texts[0]


def run_text(number: int, ensure: int, run: int, release: int, address: int) -> int:
    """``PyRun_SimpleString(address)`` in thread ``number``, which sleeps without the GIL where Python may run.

    The addresses are those of PyGILState_Ensure, PyRun_SimpleString and PyGILState_Release. All threads run during the
    calls: another thread may hold the GIL at that moment, and has to give it back.
    """
    select_innermost(number)

    def call(function: int, argument: str = "") -> int:
        return int(language.evaluate("((int(*)())%d)(%s)" % (function, argument)))

    with calling():
        state = call(ensure)
        try:
            return call(run, "(char*)%d" % address)
        finally:
            call(release, "(int)%d" % state)
