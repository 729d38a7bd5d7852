"""Core files: stacks of both languages, locals, memory, and requests that only a living process could answer."""

from __future__ import annotations

import base64
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.snapshot.programs_running import running
from tests.support import PROGRAM_COUNTER, require

from .client import Client, StdioAdapter
from .samples import PYBIND


@pytest.fixture(scope="module")
def core(native_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    gcore = require(shutil.which("gcore"), "gcore (it comes with gdb)")
    folder = tmp_path_factory.mktemp("core")
    # gdb 16 and later take the program's arguments from the core.
    with running("many_stacks.py", "with blanks\nand lines", PYTHONPATH=str(native_samples)) as pid:
        subprocess.run(
            [gcore, "-o", str(folder / "core"), str(pid)],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    return folder / f"core.{pid}"


@pytest.mark.parametrize("option", ["core", "coreDumpPath"])
def test_what_a_core_shows(client: Client, core: Path, option: str) -> None:
    client.initialize()
    opened = client.send("launch" if option == "coreDumpPath" else "attach", {option: str(core)})
    client.initialized(opened)
    client.answer(opened)
    (row,) = client.set_lines("/some/file.py", [3])
    assert not row["verified"] and "core file" in row["message"]
    client.request("setExceptionBreakpoints", {"filters": ["uncaught"]})
    client.request("configurationDone")
    thread = client.stopped(reason="exception")["threadId"]
    threads = client.request("threads")["threads"]
    assert thread in [row["id"] for row in threads] and len(threads) > 1
    stacks = {row["id"]: client.stack(row["id"]) for row in threads}
    both = [
        rows
        for rows in stacks.values()
        if any(row.get("presentationHint") == "label" for row in rows)
        and any("call_back" in row["name"] for row in rows)
    ]
    assert both, stacks
    python = next(row for row in both[0] if str(row.get("source", {}).get("path", "")).endswith(".py"))
    locals_of = client.scope(python)
    for name, variable in locals_of.items():
        assert client.evaluate(name, python, "watch")["result"] == variable["value"]
    assert client.request("stackTrace", {"threadId": thread, "startFrame": 1, "levels": 1})["stackFrames"]
    module = client.request("modules", {"startModule": 0, "moduleCount": 1})["modules"][0]
    start = module["addressRange"].partition("-")[0]
    memory = client.request("readMemory", {"memoryReference": start, "count": 4})
    assert base64.b64decode(memory["data"]) == b"\x7fELF"
    assert client.request("readMemory", {"memoryReference": "0x0", "count": 4})["unreadableBytes"] == 4
    assert client.request("loadedSources")["sources"]
    assert client.request("exceptionInfo", {"threadId": thread})["description"]
    for command in ("continue", "next", "pause", "restart", "setVariable", "writeMemory"):
        assert "core file" in client.refused(command, {"threadId": thread}), command
    assert "would have to run" in client.refused("evaluate", {"expression": "1 + 1", "frameId": python["id"]})
    frames = [row for rows in stacks.values() for row in rows if row["name"] != "called from Python"]
    native = next(row for row in frames if row.get("source", {}).get("path") == str(PYBIND))
    assert "call_back" in native["name"]
    assert client.scope(native)["value"]["value"] == "1"
    assert client.evaluate("value * 2", native, "watch")["result"] == "2"
    assert int(client.scope(native, "Registers")[PROGRAM_COUNTER]["value"].partition(" ")[0], 16)
    code = {"memoryReference": native["instructionPointerReference"], "instructionOffset": -2}
    rows = client.request("disassemble", {**code, "instructionCount": 4})["instructions"]
    assert rows[2]["address"] == native["instructionPointerReference"] and "symbol" in rows[1]
    assert "call_back" in client.evaluate("`bt", native)["result"]
    assert "no thread 1" in client.refused("stackTrace", {"threadId": 1})
    client.request("terminate")
    client.event("terminated")
    client.request("disconnect")
    client.wait_end()


def test_what_is_no_core(adapter: StdioAdapter, tmp_path: Path) -> None:
    adapter.client.initialize()
    for path, message in (("/bin/true", "is not a core file"), (str(tmp_path / "none"), "No such file")):
        assert message in adapter.client.refused("attach", {"core": path})
    client = adapter.client
    launched = client.send("launch", {"code": "print('still good')"})
    client.initialized(launched)
    client.request("configurationDone")
    client.answer(launched)
    client.wait_output("still good")
