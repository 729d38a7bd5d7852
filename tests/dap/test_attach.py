"""Attaching by process id: breakpoints and steps of both languages, and a process that lives on as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests import support
from tests.attach.driver import in_state, tracer_of
from tests.support import wait_until

from .client import Client, StdioAdapter
from .samples import line_of

PROGRAM = Path(__file__).parents[1] / "attach" / "programs" / "states.py"
TICK = line_of(PROGRAM, "# BREAK")

NAMED = """\
import os, threading, time
for name in ("reader", "writer"): threading.Thread(target=time.sleep, args=(120,), name=name, daemon=True).start()
print(f"ready pid={os.getpid()}", flush=True)
time.sleep(120)
"""


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[str]]:
    with in_state("busy") as process:
        yield process


def test_breakpoints_of_both_languages(busy: subprocess.Popen[str], client: Client) -> None:
    client.start({"processId": busy.pid}, lines={PROGRAM: [TICK]}, command="attach")
    client.wait_output("Python control is there")
    thread = client.stopped(reason="breakpoint")["threadId"]
    assert thread == busy.pid
    frames = client.stack(thread)
    assert [frame["name"] for frame in frames[:2]] == ["tick", "busy"]
    assert client.evaluate("counter + 1", frames[0])["type"] == "int"
    client.go("stepOut", thread)
    client.stopped(reason="step")
    client.set_lines(PROGRAM, [])
    assert client.set_functions(["select"])[0]["verified"]
    client.go("continue", thread)
    client.stopped(reason="function breakpoint")
    client.set_functions([])
    client.request("disconnect")
    client.wait_end()
    wait_until(lambda: tracer_of(busy.pid) == 0, what="gdb has let go")
    assert "[None, None, None]" in busy.communicate("x", timeout=patient(120))[0]
    assert busy.returncode == 0


def test_breakpoints_in_python_are_answered_by_debugpy(busy: subprocess.Popen[str], client: Client) -> None:
    """Where the interpreter can run code at once: as from debugpy, there is no "pending" that an event mends."""
    answers = client.start({"processId": busy.pid}, lines={PROGRAM: [TICK]}, command="attach")
    assert answers[str(PROGRAM)][0]["verified"]
    client.stopped(reason="breakpoint")
    assert client.events("breakpoint") == []
    assert client.event("process")["systemProcessId"] == busy.pid and client.events("process") == []


@pytest.mark.parametrize("client_runs", ["attach", "launch"])
def test_threads_of_a_running_program_have_their_names(
    client: Client, tmp_path: Path, client_runs: str
) -> None:
    """And the debugger's own, of which there are some after an attach, are not among them."""
    program = tmp_path / "named.py"
    program.write_text(NAMED)
    if client_runs == "launch":
        client.start({"program": str(program)})
        client.wait_output("ready")
    else:
        process = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True)
        [pid] = support.read_ready(process)["pid"]
        client.start({"processId": pid}, command="attach")
        client.wait_output("Python control is there")
    names = {row["name"] for row in client.request("threads")["threads"]}
    assert names == {"MainThread", "reader", "writer"}
    client.request("disconnect", {"terminateDebuggee": True})
    client.wait_end()


def test_stop_at_once_and_restart_by_attaching_again(busy: subprocess.Popen[str], client: Client) -> None:
    client.start(
        {"processId": str(busy.pid), "stopOnEntry": True, "breakpoints": ["select"]}, command="attach"
    )
    thread = client.stopped(reason="pause")["threadId"]
    assert any(frame["name"] == "busy" for frame in client.stack(thread))
    client.request("restart")
    thread = client.stopped(reason="pause")["threadId"]
    assert any(frame["name"] == "busy" for frame in client.stack(thread))
    assert busy.poll() is None


@pytest.mark.parametrize(
    ("when", "how"),
    [
        ("configuring", "disconnect"),
        ("configuring", "close"),
        ("running", "disconnect"),
        ("stopped", "close"),
    ],
)
def test_it_lives_on(busy: subprocess.Popen[str], adapter: StdioAdapter, when: str, how: str) -> None:
    client = adapter.client
    arguments = {"processId": busy.pid, "stopOnEntry": when == "stopped"}
    if when == "configuring":
        client.initialize()
        client.initialized(client.send("attach", arguments))
        client.set_functions(["PyNumber_Add"])
    else:
        client.start(arguments, command="attach")
        if when == "stopped":
            client.stopped()
    if how == "disconnect":
        client.request("disconnect")
        client.wait_end()
    else:
        adapter.close()
    wait_until(lambda: tracer_of(busy.pid) == 0, what="gdb has let go")
    assert "[None, None, None]" in busy.communicate("x", timeout=patient(120))[0]
    assert busy.returncode == 0


@pytest.mark.parametrize(("when", "command"), [("running", "disconnect"), ("stopped", "terminate")])
def test_it_is_ended_when_the_user_says_so(
    busy: subprocess.Popen[str], client: Client, when: str, command: str
) -> None:
    client.start({"processId": busy.pid, "stopOnEntry": when == "stopped"}, command="attach")
    if when == "stopped":
        client.stopped()
    client.request(command, {"terminateDebuggee": True} if command == "disconnect" else {})
    assert client.event("exited") == {"exitCode": 137}
    client.event("terminated")
    assert busy.wait(patient(60)) == -signal.SIGKILL


@pytest.fixture
def stuck() -> Iterator[subprocess.Popen[str]]:
    with in_state("native_with_gil") as process:
        yield process


def test_a_thread_that_is_stuck_in_native_code(stuck: subprocess.Popen[str], client: Client) -> None:
    client.start({"processId": stuck.pid}, command="attach")
    client.wait_output("holds the GIL in native code")
    client.go("pause", stuck.pid)
    stop = client.stopped(reason="pause")
    names = [frame["name"] for frame in client.stack(stop["threadId"])]
    assert "native_with_gil" in names and any("read_byte" in name for name in names)


def test_what_cannot_be_attached_to(busy: subprocess.Popen[str], client: Client) -> None:
    client.initialize()
    assert "999999999" in client.refused("attach", {"processId": 999999999})
    assert "no process id" in client.refused("attach", {"processId": "many"})
    client.initialized(client.send("attach", {"processId": busy.pid}))
    second = StdioAdapter()
    second.client.initialize()
    assert "gdb" in second.client.refused("attach", {"processId": busy.pid})
    assert second.close() == ""


def test_nothing_is_left_open_in_it(client: Client, tmp_path: Path) -> None:
    """Python would warn of that, where the program has switched it on."""
    path = tmp_path / "program.py"
    path.write_text("import time\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.01)\n")
    words = [sys.executable, "-W", "error", str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "begun\n"
        client.start({"processId": process.pid}, lines={path: [4]}, command="attach")
        client.stopped(reason="breakpoint")
        client.request("disconnect")
        client.wait_end()
        process.terminate()
        assert process.communicate(timeout=patient(60))[1] == ""
