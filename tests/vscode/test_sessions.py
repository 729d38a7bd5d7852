"""Sessions with what ``dualdbg editor`` prints: the command and the configuration are taken from the printed text."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from dualdbg.plugins.vscode.editors import configuration
from dualdbg.plugins.vscode.jsonc import parse
from dualdbg.system.patience import patient
from tests import warm
from tests.dap.client import Client, connect
from tests.support import ROOT, require

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# nvim-dap is no part of Debian: its module is stood in for by tables, which the configuration fills.
READ_LUA = """
package.loaded["dap"] = { adapters = {}, configurations = {} }
dofile(%s)
local dap = require("dap")
local plain = {}
for _, each in ipairs(dap.configurations.python) do
  local copy = {}
  for key, value in pairs(each) do copy[key] = type(value) == "function" and "a function" or value end
  table.insert(plain, copy)
end
io.stdout:write(vim.fn.json_encode({ adapter = dap.adapters.dualdbg, python = plain, cpp = #dap.configurations.cpp }))
"""

PROGRAM = "def main():\n    answer = 42\n    return answer\n\n\nmain()\n"


class Adapter:
    """An adapter that was started as an editor would, and a client that speaks to it."""

    def __init__(self, command: list[str]) -> None:
        self.process = warm.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
        )
        assert self.process.stdin and self.process.stdout
        self.client = Client(self.process.stdout, self.process.stdin)  # type: ignore[arg-type]

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.process.stdin.close()
        try:
            self.process.wait(patient(120))
            assert self.process.stderr.read() == b""
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process.stderr.close()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def adapters() -> Iterator[list[Adapter]]:
    started: list[Adapter] = []
    yield started
    for adapter in started:
        adapter.close()


def check_session(client: Client, arguments: dict[str, Any], program: Path, command: str) -> None:
    client.start(arguments, lines={program: [3]}, command=command)
    thread = client.stopped(reason="breakpoint")["threadId"]
    frames = client.stack(thread)
    assert [(frame["name"], frame["line"]) for frame in frames[:2]] == [("main", 3), ("<module>", 6)]
    assert client.scope(frames[0])["answer"]["value"] == "42"
    client.go("continue", thread)
    client.event("terminated")
    client.request("disconnect")


def test_nvim(tmp_path: Path, program: Path, adapters: list[Adapter]) -> None:
    nvim = require(shutil.which("nvim"), "nvim", outside=True)
    init = tmp_path / "init.lua"
    init.write_text(configuration("nvim"))
    reader = tmp_path / "read.lua"
    reader.write_text(READ_LUA % json.dumps(str(init)))
    done = subprocess.run(
        [nvim, "--headless", "-u", "NONE", "-c", f"luafile {reader}", "-c", "quit"],
        capture_output=True,
        text=True,
        timeout=patient(60),
    )
    found = json.loads(done.stdout)
    assert (found["adapter"]["type"], found["cpp"]) == ("executable", 3)
    assert found["adapter"]["options"]["initialize_timeout_sec"] > 4
    entry = found["python"][0]
    arguments = {**entry, "program": str(program), "cwd": str(tmp_path), "console": "internalConsole"}
    adapters.append(Adapter([found["adapter"]["command"], *found["adapter"]["args"]]))
    check_session(adapters[0].client, arguments, program, entry["request"])


def test_helix(program: Path, adapters: list[Adapter]) -> None:
    (language,) = tomllib.loads(configuration("helix"))["language"]
    debugger = language["debugger"]
    template = debugger["templates"][0]
    arguments = {key: value.replace("{0}", str(program)) for key, value in template["args"].items()}
    adapters.append(Adapter([debugger["command"], *debugger["args"]]))
    check_session(adapters[0].client, arguments, program, template["request"])


def test_zed(program: Path) -> None:
    text = configuration("zed")
    node = parse(text, "zed")
    assert node is not None
    (entry,) = node.value
    (command,) = (line for line in text.splitlines() if line.endswith("--listen 5678 SCRIPT"))
    words = command.removeprefix("//").strip().replace("5678 SCRIPT", f"0 {program}")
    server = subprocess.Popen(
        words.split(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert server.stderr is not None
    try:
        port = int(server.stderr.readline().rpartition(":")[2])
        client = connect(port)
        arguments = {**entry, "connect": {"host": "127.0.0.1", "port": port}}
        check_session(client, arguments, program, entry["request"])
        client.close()  # type: ignore[attr-defined]
        assert server.wait(patient(120)) == 0
    finally:
        server.kill()
        server.wait()
        server.stderr.close()


THREADS = 3
ROUNDS = 2

# Threads that reach a Python breakpoint and a native one at about the same time, again and again.
CROWD = """\
import sys, threading
sys.path.insert(0, {folder!r})
import sample_capi

def work(barrier, done):
    for count in range({rounds}):
        barrier.wait()
        here = count
        done.append(sample_capi.outer(float(here), 2))

barrier, done = threading.Barrier({threads}), []
crowd = [threading.Thread(target=work, args=(barrier, done)) for _ in range({threads})]
for one in crowd:
    one.start()
for one in crowd:
    one.join()
print("all", len(done))
"""


def test_a_client_that_continues_a_second_stopped_thread_by_itself(
    tmp_path: Path, native_samples: Path, adapters: list[Adapter]
) -> None:
    """nvim-dap does (session.lua, event_stopped: auto_continue_if_many_stopped): a user would not see that stop.

    So there is one stop at a time, whatever the threads do, and each breakpoint of each thread is shown.
    """
    program = tmp_path / "crowd.py"
    program.write_text(CROWD.format(folder=str(native_samples), rounds=ROUNDS, threads=THREADS))
    adapters.append(Adapter([sys.executable, "-m", "dualdbg", "dap"]))
    client = adapters[0].client
    client.start({"program": str(program)}, lines={program: [9]}, functions=["sample::outer"])
    shown: list[tuple[int, str]] = []
    while True:
        event = client.next_event("stopped", "terminated")
        if event["event"] == "terminated":
            break
        body = event["body"]
        assert body["allThreadsStopped"] is True
        thread = body["threadId"]
        top = client.stack(thread)[0]["name"]  # nvim-dap asks for it before the user can do anything
        shown.append((thread, top))
        assert client.events("stopped") == []  # nothing that it would continue by itself
        client.go("continue", thread)
    client.wait_output(f"all {THREADS * ROUNDS}")
    tops = [top for _, top in shown]
    assert tops.count("work") == THREADS * ROUNDS
    assert tops.count("sample::outer") == THREADS * ROUNDS
    assert len({thread for thread, _ in shown}) == THREADS
    client.request("disconnect")


def test_initialize_is_answered_before_anything_is_started(adapters: list[Adapter]) -> None:
    """nvim-dap warns when it takes 4 s: so nothing that may be slow comes before, no gdb and no search for symbols."""
    adapters.append(Adapter([sys.executable, "-m", "dualdbg", "dap"]))
    adapters[0].client.initialize()
    assert psutil.Process(adapters[0].process.pid).children() == []
