"""Programs that ask for a debugger themselves: debugpy's functions, breakpoint(), pydevd.settrace(). We are there."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.snapshot.test_command import dualdbg
from tests.support import other_interpreter, wait_until

from .client import Client
from .test_children import follow, session_of
from .test_launch import finish

Write = Callable[..., Path]

ASKS = """\
import debugpy, sys

def main():
    port = int(sys.argv[1])
    print(f"connected {debugpy.is_client_connected()}")
    print("listens {}".format(debugpy.listen(("127.0.0.1", port))))
    debugpy.wait_for_client()
    debugpy.debug_this_thread()
    debugpy.trace_this_thread(True)
    try:
        debugpy.listen(port)
    except RuntimeError as error:
        print("again:", error)
    debugpy.breakpoint()
    first = 1
    breakpoint()
    second = 2
    import pydevd
    pydevd.settrace()
    third = 3

main()
print("done", debugpy.is_client_connected(), flush=True)
"""
STOPS = [15, 17, 20]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize("version", rows.versions())
def test_a_program_that_waits_for_a_debugger_goes_on(version: str, client: Client, program: Write) -> None:
    python, port = other_interpreter(version), free_port()
    path = program(ASKS)
    asked = follow(client)  # debugpy's own adapter, which listen() starts, would be a child
    client.start({"program": str(path), "python": str(python), "args": [str(port)]})
    for line in STOPS:
        thread = client.stopped(reason="breakpoint")["threadId"]
        frames = client.stack(thread)
        assert [(frame["name"], frame.get("line")) for frame in frames] == [("main", line), ("<module>", 22)]
        client.go("continue", thread)
    assert finish(client) == 0
    assert "connected True" in client.output and "done True" in client.output
    assert f"listens ('127.0.0.1', {port})" in client.output
    assert "again: debugpy.listen() has already been called on this process" in client.output
    assert "dualdbg debugs the program" in client.output
    assert asked == []


WRONG = {
    "('a', 'b')": "expected port or (host, port)",
    "70000": "invalid port number",
    "None": "expected port",
}


def test_wrong_addresses_are_refused_as_debugpy_does(client: Client, program: Write) -> None:
    text = "import debugpy\n"
    for call in WRONG:
        text += f"try:\n    debugpy.listen({call})\nexcept ValueError as one:\n    print(one, flush=True)\n"
    client.start({"program": str(program(text))})
    assert finish(client) == 0
    assert all(error in said for error, said in zip(WRONG.values(), client.output.splitlines(), strict=True))


@pytest.mark.parametrize(("hook", "stops"), [("0", 0), ("debugpy.breakpoint", 1), ("own.hook", 0)])
def test_the_users_choice_of_what_breakpoint_does(
    hook: str, stops: int, client: Client, program: Write
) -> None:
    program("def hook():\n    print('the own hook', flush=True)\n", "own.py")
    path = program("breakpoint()\nx = 1\n")
    client.start({"program": str(path), "env": {"PYTHONBREAKPOINT": hook}})
    for _ in range(stops):
        thread = client.stopped()["threadId"]
        assert client.stack(thread)[0]["line"] == 2
        client.go("continue", thread)
    assert finish(client) == 0
    assert ("the own hook" in client.output) == (hook == "own.hook")


OTHER_VERSION = {
    "debugpy/__init__.py": "__all__ = ['listen']\nfrom debugpy.public_api import *\n__version__ = '1.0'\n",
    "debugpy/public_api.py": "def listen(*args):\n    raise SystemError('the other one')\nbreakpoint = listen\n",
}


def test_a_debugpy_of_the_programs_own_is_not_mixed_with_ours(client: Client, program: Write) -> None:
    """As under debugpy's own adapter, a program that is launched gets the debugger's."""
    for name, text in OTHER_VERSION.items():
        program(text, name)
    path = program("import debugpy\nprint(debugpy.listen(0)[0])\ndebugpy.breakpoint()\nx = 1\n")
    client.start({"program": str(path)})
    thread = client.stopped()["threadId"]
    assert client.stack(thread)[0]["line"] == 4
    client.go("continue", thread)
    assert finish(client) == 0


WAITS = """\
import {first}, os, sys, time
print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
import debugpy
print(debugpy.listen(0)[0], debugpy.is_client_connected(), flush=True)
def stop():
    {call}
    return 1
stop()
while not os.path.exists(sys.argv[1] + "2"):
    time.sleep(0.01)
print(sys.breakpointhook is sys.__breakpointhook__, flush=True)
"""


@pytest.mark.parametrize("first", ["time", "debugpy"])
@pytest.mark.parametrize("call", ["debugpy.breakpoint()", "breakpoint()"])
def test_in_a_process_that_was_attached_to(
    first: str, call: str, client: Client, program: Write, tmp_path: Path
) -> None:
    """``first``: it has imported a debugpy of another version before."""
    for name, text in OTHER_VERSION.items():
        program(text, name)
    path = program(WAITS.format(first=first, call=call))
    go = tmp_path / "go"
    with subprocess.Popen([sys.executable, str(path), str(go)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            client.start({"processId": process.pid}, command="attach")
            client.wait_output("Python control is there")
            go.touch()
            assert process.stdout.readline() == "127.0.0.1 True\n"
            thread = client.stopped(reason="breakpoint")["threadId"]
            frames = client.stack(thread)
            assert [(frame["name"], frame.get("line")) for frame in frames] == [("stop", 9), ("<module>", 10)]
            client.request("disconnect")
            wait_until(
                lambda: client.ended or client.wait(lambda: client.ended, 1), 30, "the adapter has let go"
            )
            Path(f"{go}2").touch()
            assert process.stdout.readline() == "True\n"
            assert process.wait(patient(120)) == 0
        finally:
            process.kill()


STARTS = """\
import dataclasses, debugpy, json, os, subprocess, sys
told = debugpy.get_cli_options()
values = dataclasses.asdict(told)
print("told", json.dumps([values[name] for name in ("mode", "target_kind", "target", "config")]), flush=True)
host, port = told.address
words = ["--connect", "%s:%d" % (host, port), "--parent-session-pid", str(os.getpid())]
words = ["-m", "debugpy", *words, "--adapter-access-token", told.adapter_access_token, *sys.argv[1:]]
print("status", subprocess.call(["/bin/sh", "-c", 'exec "$@"', "sh", sys.executable, *words]), flush=True)
"""
STARTED = """\
import debugpy, subprocess, sys
print(__name__, sys.argv, debugpy.get_cli_options().target, flush=True)
subprocess.run([sys.executable, "-c", "print('a child of its own', flush=True)"], check=True)
"""


@pytest.mark.parametrize("as_module", [False, True])
def test_a_child_that_connects_by_the_programs_options(
    as_module: bool, client: Client, program: Write
) -> None:
    for name, text in OTHER_VERSION.items():
        program(text, name)  # which is on nobody's path but the program's own
    child = program(STARTED, "started.py")
    path = program(STARTS)
    asked = follow(client)
    what = ["-m", "started"] if as_module else [str(child)]
    followed = {"followChildren": "-m debugpy"}
    client.start({"program": str(path), "args": [*what, "one"], "cwd": str(path.parent), **followed})
    second, configuration = session_of(client, asked)
    second.start(configuration, lines={child: [2]}, command="attach")
    thread = second.stopped()["threadId"]
    assert [row["line"] for row in second.stack(thread)] == [2]
    second.go("continue", thread)
    assert second.event("exited")["exitCode"] == 0
    second.request("disconnect")
    assert finish(client) == 0
    told = ["connect", "file", str(path), {"qt": "none", "subProcess": True}]
    assert f"told {json.dumps(told)}\n" in client.output
    assert f"__main__ ['{child}', 'one'] {'started' if as_module else child}\n" in client.output
    assert "a child of its own" in client.output and "status 0" in client.output


def test_a_child_that_is_not_followed_is_refused_at_once(client: Client, program: Write) -> None:
    child = program("print('runs all the same', flush=True)\n", "started.py")
    client.start({"program": str(program(STARTS)), "args": [str(child)], "subProcess": False})
    client.wait_output(r"status [1-9]", 20)
    assert finish(client) == 0
    assert "ConnectionRefusedError" in client.output and "runs all" not in client.output


@pytest.mark.parametrize(("what", "told"), [({"module": "some"}, "module some"), ({"code": "{}"}, "code ")])
def test_what_the_options_say_is_run(what: dict[str, str], told: str, client: Client, program: Write) -> None:
    text = "import debugpy; one = debugpy.get_cli_options(); print(one.target_kind, one.target, flush=True)"
    path = program(text, "some.py")
    asked = {name: value.replace("{}", text) for name, value in what.items()}
    client.start({**asked, "cwd": str(path.parent)})
    assert finish(client) == 0
    assert client.output.startswith(told + (text if "code" in what else ""))


def test_the_same_at_the_prompt(program: Write) -> None:
    path = program(ASKS)
    words = ["-x", "bt", "-x", "continue", "-x", "bt", "--batch"]
    done = dualdbg("run", *words, str(path), str(free_port()))
    stacks = [line.split()[1:] for line in done.stdout.splitlines() if " py " in line]
    assert [words[1] for words in stacks] == ["main", "<module>"] * 2, done.stdout + done.stderr
    assert [words[2].rpartition(":")[2] for words in stacks] == ["15", "22", "17", "22"]
