"""What gdb calls in a thread that it holds is never stopped by debugpy: the thread would stand inside gdb's call."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dualdbg.target.launcher import Launch
from tests import rows, support

from .client import Client
from .test_debugging import debug, ends_well

# Calls a function of the probe as gdb does it.
PROGRAM = """\
import ctypes, json, sys
probe = sys.modules["pydevd"].dualdbg_probe
address = probe.mailbox()
head = ctypes.string_at(address, 80)
place = address + head.index(probe.MARK) + len(probe.MARK) + probe.ROOM_OF_EXCEPTION
evaluate = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(probe.evaluate)
size = ctypes.pythonapi.PyObject_Size
size.argtypes, size.restype = [ctypes.c_void_p], ctypes.c_ssize_t
def own(argument):
    said.append(argument)
    return 1
def call(text):
    ctypes.memmove(place, text, len(text))
    said.append(size(address))
    said.append("back")
def ask(text):
    request = {"text": text, "limit": 60, "file": __file__, "line": sys._getframe().f_lineno + 1, "function": "ask"}
    said.append(json.loads(evaluate(json.dumps(request)))["value"])
    said.append("back")
said = []
probe.__dict__["own"] = own
call(b"own\\0" b"called\\0")
ask("own('asked')")
own("by the program")
print(said)
"""
# Lines: in the function, of the call by the mailbox, of the expression, and of the program's own call.
OWN, CALL, ASK, LAST = 10, 14, 18, 24


@pytest.mark.parametrize("version", rows.versions())
def test_neither_a_breakpoint_nor_a_step_stops_in_a_call_by_gdb(version: str, tmp_path: Path) -> None:
    """A user's function is called, as an expression at a native stop does it."""
    python = sys.executable if version == rows.OURS else str(support.other_interpreter(version))
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)

    async def scenario(client: Client) -> None:
        await client.start({script: [OWN, CALL, ASK]})
        assert (await client.event("stopped"))["reason"] == "breakpoint"
        assert await client.stack(1) == [("call", CALL), ("<module>", LAST - 2)]
        await client.request("stepIn", threadId=1)
        assert (await client.event("stopped"))["reason"] == "step"
        assert await client.stack(1) == [("call", CALL + 1), ("<module>", LAST - 2)]
        await client.resume()
        assert (await client.event("stopped"))["reason"] == "breakpoint"
        assert await client.stack(1) == [("ask", ASK), ("<module>", LAST - 1)]
        await client.request("stepIn", threadId=1)
        assert (await client.event("stopped"))["reason"] == "step"
        assert await client.stack(1) == [("ask", ASK + 1), ("<module>", LAST - 1)]
        await client.resume()
        assert (await client.event("stopped"))["reason"] == "breakpoint"
        assert await client.stack(1) == [("own", OWN), ("<module>", LAST)]
        await client.resume()
        await ends_well(client, "['called', 1, 'back', 'asked', '1', 'back', 'by the program']\n")

    launch = Launch(python, script=str(script), stdin="pipe", stdout="pipe", stderr="pipe")
    debug(launch, scenario)
