"""Runs a method of the probe in a thread that holds the GIL, and brings back the text that it returns."""

import gdb

import __main__ as engine


def probe_text(number, functions, method, argument):
    """The string that ``pydevd.dualdbg_probe.METHOD(ARGUMENT)`` returns; errors are gdb's.

    As ``call-probe``: thread ``number`` holds the GIL, an exception on its way and errno are the same afterwards, no
    breakpoint stops meanwhile. The other threads run while it does.
    """
    texts = []

    def keep(call, result):
        address = call("PyUnicode_AsUTF8", result)
        if address:
            character = gdb.lookup_type("unsigned char").pointer()
            texts.append(gdb.Value(address).cast(character).string("utf-8"))

    engine.call_probe(number, functions, method, argument, keep)
    if not texts:
        raise gdb.GdbError("the interpreter could not run it")
    return texts[0]


def run_text(number, ensure, run, release, address):
    """``PyRun_SimpleString(address)`` in thread ``number``, which sleeps without the GIL, at a place to run Python.

    The addresses are those of PyGILState_Ensure, PyRun_SimpleString and PyGILState_Release. All threads run during
    the calls: the GIL may be taken at that moment by one that gives it back.
    """
    engine._thread(number).switch()
    gdb.newest_frame().select()

    def call(function, argument=""):
        return int(gdb.parse_and_eval("((int(*)())%d)(%s)" % (function, argument)))

    with engine._command("calling")():
        state = call(ensure)
        try:
            return call(run, "(char*)%d" % address)
        finally:
            call(release, "(int)%d" % state)


COMMANDS = {"probe-text": probe_text, "run-text": run_text}
