"""What gdb calls in a thread that it holds is never stopped by debugpy: the thread would stand inside gdb's call."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dualdbg.target.launcher import Launch
from tests import rows, support

from .client import Client
from .test_debugging import debug, ends_well

# Calls a function of the probe as gdb does it, while debugpy steps into what the line calls.
PROGRAM = """\
import ctypes, sys
probe = sys.modules["pydevd"].dualdbg_probe
address = probe.mailbox()
head = ctypes.string_at(address, 80)
place = address + head.index(probe.MARK) + len(probe.MARK) + probe.ROOM_OF_EXCEPTION
size = ctypes.pythonapi.PyObject_Size
size.argtypes, size.restype = [ctypes.c_void_p], ctypes.c_ssize_t
def call(text):
    ctypes.memmove(place, text, len(text))
    for _ in range(3):
        found = size(address)
        said.append(found)
said = []
call(b"hear\\0" b"0 1\\0")
print(len(said))
"""
CALLS = 11  # the line that does


@pytest.mark.parametrize("version", rows.versions())
def test_a_call_by_gdb_is_not_stepped_into(version: str, tmp_path: Path) -> None:
    python = sys.executable if version == rows.OURS else str(support.other_interpreter(version))
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)

    async def scenario(client: Client) -> None:
        await client.start({script: [CALLS]})
        assert (await client.event("stopped"))["reason"] == "breakpoint"
        await client.request("setBreakpoints", source={"path": str(script)}, breakpoints=[])
        await client.request("setExceptionBreakpoints", filters=["raised"])
        for line in (CALLS + 1, CALLS - 1, CALLS, CALLS + 1):
            await client.request("stepIn", threadId=1)
            assert (await client.event("stopped"))["reason"] == "step"
            assert await client.stack(1) == [("call", line), ("<module>", 14)]
        await client.resume()
        await ends_well(client, "3\n")

    pipes = {"stdin": "pipe", "stdout": "pipe", "stderr": "pipe"}
    debug(Launch(python, script=str(script), **pipes), scenario)
