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


COMMANDS = {"probe-text": probe_text}
