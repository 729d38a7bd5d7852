"""Starting a program: what is run, where, with which environment, streams and options; and what cannot be started."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.support import wait_until

from .client import Client, StdioAdapter

Write = Callable[..., Path]

TELL = """\
import os, sys
print(sys.argv[1:], os.getcwd(), os.environ.get("MARK"), os.environ.get("HOME"), sys.flags.optimize)
print("to stderr", file=sys.stderr)
sys.exit(3)
"""


def finish(client: Client) -> int:
    code = client.event("exited")["exitCode"]
    client.event("terminated")
    return int(code)


def test_a_program_with_everything(client: Client, program: Write, tmp_path: Path) -> None:
    (tmp_path / "variables").write_text("# a comment\nMARK='from the file'\n")
    client.start(
        {
            "program": str(program(TELL)),
            "args": ["one", "two words"],
            "cwd": "/usr",
            "env": {"HOME": None},
            "envFile": str(tmp_path / "variables"),
            "python": [sys.executable, "-O"],
        }
    )
    assert finish(client) == 3
    client.wait_output(r"\['one', 'two words'\] /usr from the file None 1\n")
    streams = {body["category"] for body in client.events("output")}
    assert {"stdout", "stderr"} <= streams


@pytest.mark.parametrize(
    ("arguments", "expected"),
    rows.some(
        [
            ({"module": "this"}, "The Zen of Python"),
            (
                {"code": "import sys; print(sys.argv)", "args": "one 'two words'"},
                r"\['-c', 'one', 'two words'\]",
            ),
            ({"program": sys.executable, "args": ["-O", "-c", "print(6 * 7)"]}, "42"),
            ({"code": "print(6 * 7)"}, "42"),
            ({"code": ["x = 6", "print(x * 7)"]}, "42"),
        ],
        3,
    ),
    ids=["module", "args as one text", "the interpreter as the program", "code", "code of lines"],
)
def test_other_things_to_run(client: Client, arguments: dict[str, Any], expected: str) -> None:
    client.start(arguments)
    assert finish(client) == 0
    client.wait_output(expected)


@pytest.mark.smoke
def test_stop_on_entry_is_before_the_first_line(client: Client, program: Write) -> None:
    path = program('"""A docstring."""\nx = 1\n')
    client.start({"program": str(path), "stopOnEntry": True})
    stop = client.stopped(reason="entry")
    frame = client.stack(stop["threadId"])[0]
    assert frame["source"]["path"] == str(path)
    assert "x" not in client.scope(frame)


def test_just_my_code(client: Client, program: Write) -> None:
    path = program("import json\njson.dumps([1])\nprint('end')\n")
    client.start({"program": str(path), "justMyCode": False}, lines={path: [2]})
    thread = client.stopped()["threadId"]
    client.go("stepIn", thread)
    client.stopped(reason="step")
    assert client.stack(thread)[0]["source"]["path"].endswith("json/__init__.py")


def test_the_program_begins_with_its_specs_as_breakpoints(
    client: Client, native_samples: Path, demo: Path
) -> None:
    client.start({"program": str(demo), "breakpoints": ["sample::helper"]})
    new = client.event("breakpoint", reason="new")["breakpoint"]
    stop = client.stopped(reason="function breakpoint")
    assert stop["hitBreakpointIds"] == [new["id"]]


def test_gdb_commands_of_the_user_run(client: Client, demo: Path) -> None:
    commands = [
        {"text": "-enable-pretty-printing", "description": "", "ignoreFailures": True},
        {"text": "set $dualdbg_mark = 42"},
        {"text": "-gdb-set print elements 300"},
    ]
    client.start({"program": str(demo), "setupCommands": commands}, functions=["sample::helper"])
    frame = client.stack(client.stopped()["threadId"])[0]
    assert client.evaluate("$dualdbg_mark", frame)["result"] == "42"


def test_an_option_that_is_not_known_is_said(client: Client, program: Write) -> None:
    client.start({"program": str(program("pass")), "stopOnEntri": True, "__sessionId": "x", "name": "n"})
    finish(client)
    assert "'stopOnEntri' is not known; did you mean 'stopOnEntry'?" in client.output
    assert "__sessionId" not in client.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    rows.some(
        [
            ({}, "nothing to run"),
            ({"program": "x.py", "module": "y"}, "program and module"),
            ({"code": "1", "python": "/nowhere/python"}, "/nowhere/python"),
            ({"code": "1", "args": [1]}, "args is not a list of texts"),
            ({"code": "1", "envFile": "/nowhere/file"}, "No such file"),
            ({"program": "/nowhere/at_all.py"}, "no file /nowhere/at_all.py"),
            ({"code": "1", "cwd": "/nowhere"}, "no folder /nowhere"),
            ({"code": "1", "python": "/bin/true"}, "/bin/true"),
            ({"code": "1", "python": [sys.executable, "-S"]}, "-S"),
            ({"code": "1", "console": "somewhere"}, "integratedTerminal"),
            ({"code": "1", "env": {"A": []}}, "A is not a text"),
            ({"code": "1", "MIMode": "lldb"}, "gdb"),
            ({"code": "1", "gdb": "/nowhere/gdb"}, "/nowhere/gdb"),
            ({"code": "1", "breakpoints": ["data:x"]}, "address"),
            ({"code": "1", "symbols": ["everything"]}, "policy"),
        ],
        5,
    ),
)
def test_what_cannot_be_started(client: Client, arguments: dict[str, Any], message: str) -> None:
    client.initialize()
    assert message in client.refused("launch", arguments)
    # and the client may try again
    assert "nothing to run" in client.refused("launch", {})


class Terminals:
    """What an editor does for runInTerminal: a pseudo terminal, with the command in the foreground."""

    def __init__(self, client: Client) -> None:
        self.master, self._slave = pty.openpty()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.asked: list[dict[str, Any]] = []
        self.text = b""
        client.reverse["runInTerminal"] = self.run

    def run(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(arguments)

        def own_terminal() -> None:
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        words = arguments["args"]
        started = subprocess.Popen(
            " ".join(words) if arguments.get("argsCanBeInterpretedByShell") else words,
            shell=arguments.get("argsCanBeInterpretedByShell", False),
            cwd=arguments["cwd"],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            preexec_fn=own_terminal,
        )
        self.processes.append(started)
        return {"processId": started.pid}

    def write(self, data: bytes) -> None:
        os.write(self.master, data)

    def read_until(self, wanted: bytes) -> None:
        while wanted not in self.text:
            self.text += os.read(self.master, 1 << 12)

    def close(self) -> None:
        for process in self.processes:
            process.wait(patient(60))
        os.close(self.master)
        os.close(self._slave)


@pytest.fixture
def terminals(client: Client) -> Iterator[Terminals]:
    made = Terminals(client)
    yield made
    made.close()


def test_in_a_terminal_of_the_editor(client: Client, program: Write, terminals: Terminals) -> None:
    path = program(
        "import os, sys, time\n"
        "name = input('name? ')\n"
        "print('hello', name, os.isatty(1), os.tcgetpgrp(0) == os.getpgrp())\n"
        "try:\n"
        "    print('waiting', flush=True)\n"
        "    time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(7)\n"
    )
    arguments = {"program": str(path), "console": "integratedTerminal", "consoleTitle": "the title"}
    client.start(arguments, lines={path: [3]})
    assert terminals.asked[0]["kind"] == "integrated" and terminals.asked[0]["title"] == "the title"
    terminals.read_until(b"name? ")
    terminals.write("Zoë\n".encode())
    thread = client.stopped()["threadId"]
    assert client.scope(client.stack(thread)[0])["name"]["value"] == "'Zoë'"
    client.go("continue", thread)
    terminals.read_until(b"waiting")
    assert "hello Zoë True True".encode() in terminals.text
    terminals.write(b"\x03")  # the program's own, as without a debugger
    assert finish(client) == 7
    assert terminals.processes[0].wait(patient(60)) == 7
    assert client.output == ""


def test_a_program_in_a_terminal_goes_on_there_when_it_is_left(
    client: Client, program: Write, terminals: Terminals
) -> None:
    path = program("print('begun', flush=True)\nprint('the end', input('name? '))\n")
    client.start({"program": str(path), "console": "integratedTerminal"})
    terminals.read_until(b"name? ")
    client.request("disconnect", {"terminateDebuggee": False})
    client.wait_end()
    terminals.write(b"x\n")
    terminals.read_until(b"the end x")


def test_a_terminal_that_is_closed_ends_the_program(
    client: Client, program: Write, terminals: Terminals
) -> None:
    path = program("import time\ntime.sleep(60)\n")
    client.start({"program": str(path), "console": "externalTerminal"})
    terminals.processes[0].send_signal(signal.SIGKILL)
    client.event("exited")
    client.event("terminated")


def test_a_program_that_cannot_start_in_the_terminal(
    client: Client, program: Write, terminals: Terminals, tmp_path: Path
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    client.initialize()
    run = terminals.run

    def without_the_folder(arguments: dict[str, Any]) -> dict[str, Any]:
        body = run({**arguments, "cwd": "/"})
        folder.rmdir()
        return body

    client.reverse["runInTerminal"] = without_the_folder
    arguments = {"program": str(program("pass")), "cwd": str(folder), "console": "integratedTerminal"}
    assert str(folder) in client.refused("launch", arguments)
    assert terminals.processes[0].wait(patient(60)) == 3


def test_an_editor_without_terminals(adapter: StdioAdapter) -> None:
    client = adapter.client
    client.initialize(supportsRunInTerminalRequest=False)
    assert "internalConsole" in client.refused("launch", {"code": "1", "console": "integratedTerminal"})


def test_without_debugging(client: Client, program: Write) -> None:
    path = program("print('plain', __import__('sys').gettrace(), 'pydevd' in __import__('sys').modules)\n")
    client.initialize()
    launched = client.send("launch", {"program": str(path), "noDebug": True})
    client.answer(launched)
    assert finish(client) == 0
    client.wait_output("plain None False")


@pytest.mark.parametrize("when", ["the terminal is opened", "the program runs"])
def test_a_killed_adapter_leaves_no_folder(
    when: str, program: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folder may have a path too long for a socket
        folder = Path(name)
        monkeypatch.setenv("TMPDIR", name)
        adapter = StdioAdapter()
        terminals = Terminals(adapter.client)
        wanted = {"program": str(program("while True: pass\n")), "console": "integratedTerminal"}
        try:
            if when == "the program runs":
                adapter.client.start(wanted)
                assert list(folder.iterdir())
            else:
                asked = threading.Event()
                adapter.client.reverse["runInTerminal"] = lambda arguments: asked.set() or {}
                adapter.client.initialize()
                adapter.client.send("launch", wanted)
                assert adapter.client.wait(asked.is_set, 60)
                assert list(folder.glob("*/session"))
            adapter.process.kill()
            adapter.process.wait(patient(120))
            wait_until(lambda: not list(folder.iterdir()), 60, "the folders are removed")
        finally:
            adapter.close()
            terminals.close()


def test_a_terminal_where_the_path_for_temporary_files_is_long(
    program: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of a socket has 107 bytes at most."""
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    adapter = StdioAdapter()
    terminals = Terminals(adapter.client)
    try:
        adapter.client.start({"program": str(program("pass")), "console": "integratedTerminal"})
        assert finish(adapter.client) == 0
    finally:
        adapter.close()
        terminals.close()
