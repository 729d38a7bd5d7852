"""A program that replaces itself with another (exec) stays one session: the same process, breakpoints, buttons."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.support import build_native, other_interpreter

from .client import Client
from .test_children import follow, session_of
from .test_launch import finish

Write = Callable[..., Path]

FIRST = """\
import os, sys, time
x = 1
while len(sys.argv) > 1 and not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
os.execv({python!r}, ["python", *{options!r}, {second!r}, "a b"])
"""
SECOND = """\
import os, subprocess, sys
sys.path.insert(0, {native!r})
import sample_capi

def work(a):
    b = a + 1
    return sample_capi.add(b, 2)

print(work(1), flush=True)
if len(sys.argv) > 2:
    subprocess.call([sys.executable, sys.argv[2]])
sys.exit(7)
"""


@pytest.fixture
def chain(program: Write) -> Callable[..., tuple[Path, Path]]:
    """Writes a program that replaces itself with a second one, and returns both."""

    def write(python: str | Path = sys.executable, *options: str) -> tuple[Path, Path]:
        second = program(SECOND.format(native=str(build_native(python))), "second.py")
        text = FIRST.format(python=str(python), options=list(options), second=str(second))
        return program(text), second

    return write


Chain = Callable[..., tuple[Path, Path]]


@pytest.mark.parametrize("version", rows.versions())
@pytest.mark.parametrize("children", [True, False])
def test_breakpoints_of_both_languages_stop_in_the_new_program(
    version: str, children: bool, client: Client, chain: Chain
) -> None:
    first, second = chain(other_interpreter(version))
    asked = follow(client)
    options = {"program": str(first), "subProcess": children}
    answers = client.start(options, lines={first: [2], second: [6]}, functions=["capi_add"])
    numbers = [rows[0]["id"] for rows in (answers[str(first)], answers[str(second)], answers["functions"])]
    thread = client.stopped(reason="breakpoint", hitBreakpointIds=numbers[:1])["threadId"]
    client.go("continue", thread)
    assert client.stopped(reason="breakpoint", hitBreakpointIds=numbers[1:2])["threadId"] == thread
    frames = client.stack(thread)
    assert [(frame["name"], frame.get("line")) for frame in frames] == [("work", 6), ("<module>", 9)]
    assert client.scope(frames[0])["a"]["value"] == "1"
    assert client.evaluate("a + 1", frames[0])["result"] == "2"
    client.go("next", thread)
    assert client.stack(client.stopped(reason="step")["threadId"])[0]["line"] == 7
    client.go("stepIn", thread)
    client.stopped()
    assert client.stack(thread)[0]["name"] == "capi_add"
    assert [row["id"] for row in client.request("threads")["threads"]] == [thread]
    client.set_functions([])
    client.go("continue", thread)
    assert client.event("exited")["exitCode"] == 7
    client.event("terminated")
    assert asked == [] and "4.0\n" in client.output


def test_children_of_the_new_program_are_followed(client: Client, program: Write) -> None:
    child = program("y = 2\nz = 3\n", "child.py")
    second = program(SECOND.format(native=str(build_native(sys.executable))), "second.py")
    words = [sys.executable, str(second), "a", str(child)]
    path = program(f"import os, sys\nos.execv(sys.executable, {words!r})\n")
    asked = follow(client)
    client.start({"program": str(path)})
    other, configuration = session_of(client, asked)
    other.start(configuration, lines={child: [2]}, command="attach")
    other.go("continue", other.stopped()["threadId"])
    assert other.event("exited")["exitCode"] == 0
    other.request("disconnect")
    assert finish(client) == 7 and asked == []


def test_a_child_that_runs_another_program_stays_in_its_session(client: Client, program: Write) -> None:
    second = program(SECOND.format(native=str(build_native(sys.executable))), "second.py")
    path = program(
        "import os, sys\nif os.fork() == 0:\n    x = 1\n"
        f"    os.execv(sys.executable, ['python', {str(second)!r}])\n"
        "sys.exit(os.WEXITSTATUS(os.wait()[1]))\n"
    )
    asked = follow(client)
    client.start({"program": str(path)})
    child, configuration = session_of(client, asked)
    child.start(configuration, lines={path: [3], second: [6]}, command="attach")
    thread = child.stopped()["threadId"]
    assert child.stack(thread)[0]["line"] == 3
    child.go("continue", thread)
    assert child.stopped()["threadId"] == thread
    assert child.stack(thread)[0]["line"] == 6
    child.go("continue", thread)
    assert child.event("exited")["exitCode"] == 7
    child.request("disconnect")
    assert finish(client) == 7 and asked == []


def test_uncaught_exceptions_that_the_editor_chose_stop_there_too(client: Client, program: Write) -> None:
    second = program("def f():\n    raise KeyError('x')\nf()\n", "second.py")
    path = program(f"import os, sys\nos.execv(sys.executable, ['python', {str(second)!r}])\n")
    client.start({"program": str(path)}, exceptions=["uncaught"])
    thread = client.stopped(reason="exception")["threadId"]
    assert client.stack(thread)[0]["name"] == "f"
    client.go("continue", thread)
    assert finish(client) == 1


def test_restart_begins_with_the_first_program(client: Client, chain: Chain) -> None:
    first, second = chain()
    client.start({"program": str(first)}, lines={first: [2], second: [6]})
    for restarts in (True, False):
        thread = client.stopped()["threadId"]
        assert client.stack(thread)[0]["line"] == 2
        client.go("continue", thread)
        assert client.stopped()["threadId"] == thread
        assert client.stack(thread)[0]["line"] == 6
        client.request("restart") if restarts else client.go("continue", thread)
    assert client.event("exited")["exitCode"] == 7


@pytest.mark.parametrize("option", ["-I", "-S", "-E"])
def test_a_python_that_keeps_the_debugger_out_says_so(option: str, client: Client, chain: Chain) -> None:
    first, second = chain(sys.executable, option)
    client.start({"program": str(first)}, lines={second: [6]}, functions=["capi_add"])
    thread = client.stopped()["threadId"]
    assert client.stack(thread)[0]["name"] == "capi_add"
    assert f"option {option} keeps the debugger out of Python" in client.output
    client.go("continue", thread)
    assert finish(client) == 7


@pytest.mark.parametrize("stopped", [True, False])
def test_a_process_that_was_attached_to(stopped: bool, client: Client, chain: Chain, tmp_path: Path) -> None:
    """``stopped``: Python control is there before the exec; else it may come too late for the first program."""
    first, second = chain()
    go = tmp_path / "go"
    with subprocess.Popen(
        [sys.executable, str(first), str(go)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            client.start(
                {"processId": process.pid}, lines={second: [6]}, functions=["capi_add"], command="attach"
            )
            if stopped:
                client.wait_output("Python control is there")
            go.touch()
            thread = client.stopped(reason="breakpoint")["threadId"]
            assert thread == process.pid
            assert [frame["name"] for frame in client.stack(thread)] == ["work", "<module>"]
            client.go("continue", thread)
            client.stopped()
            assert client.stack(thread)[0]["name"] == "capi_add"
            client.request("disconnect")
            assert process.stdout is not None and process.stdout.read() == "4.0\n"
            assert process.wait(patient(120)) == 7
        finally:
            process.kill()
