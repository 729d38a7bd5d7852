"""The life of a session: restart, terminate, disconnect, cancel."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.support import wait_until

from .client import Client, Refused, StdioAdapter
from .samples import PYBIND, line_of
from .server import gone, process_id

Write = Callable[..., Path]

RUNS_ON = "import time\nprint('running', flush=True)\nx = 1\nwhile True:\n    time.sleep(0.01)\n"
WRITES_AT_THE_END = """\
import sys, time
print('running', flush=True)
time.sleep(0.2)
open(sys.argv[1], 'w').write('the end')
"""


# -- restart ----------------------------------------------------------------------------------------


def test_restart_keeps_the_breakpoints(client: Client, demo: Path) -> None:
    answers = client.start({"program": str(demo)}, lines={demo: [11]}, functions=["sample::helper"])
    first = process_id(client)
    ids = [answers[str(demo)][0]["id"], answers["functions"][0]["id"]]
    client.stopped(hitBreakpointIds=[ids[1]])
    client.request("restart")
    second = process_id(client)
    assert second != first
    gone(first)
    client.stopped(hitBreakpointIds=[ids[1]])
    thread = client.request("threads")["threads"][0]["id"]
    assert thread == second
    client.set_functions([])
    client.go("continue", thread)
    client.stopped(hitBreakpointIds=[ids[0]])
    assert client.set_lines(demo, [11, 12])[0]["id"] == ids[0]
    client.go("continue", thread)
    client.stopped()
    client.go("continue", thread)
    client.event("exited")
    client.event("terminated")
    client.request("restart", {"arguments": {"program": str(demo), "stopOnEntry": True}})
    client.stopped(reason="entry")


def test_restart_while_it_runs(client: Client, program: Write) -> None:
    client.start({"program": str(program(RUNS_ON))})
    first = process_id(client)
    client.wait_output("running")
    client.request("restart")
    assert process_id(client) != first
    gone(first)
    client.wait_output("running\n*running")
    assert client.events("exited") == [] and client.events("terminated") == []


# -- ends -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["running", "python", "native"])
@pytest.mark.parametrize("how", ["disconnect", "terminate", "close"])
def test_a_launched_program_ends_with_the_session(
    adapter: StdioAdapter, demo: Path, program: Write, state: str, how: str
) -> None:
    client = adapter.client
    if state == "native":
        client.start({"program": str(demo)}, functions=["sample::helper"])
        client.stopped()
    else:
        path = program(RUNS_ON)
        client.start({"program": str(path)}, lines={path: [3]} if state == "python" else {})
        client.wait_output("running")
        if state == "python":
            client.stopped()
    pid = process_id(client)
    if how == "close":
        adapter.close()
    else:
        client.request(how)
        if how == "terminate":
            client.event("exited")
            client.event("terminated")
            client.request("disconnect")
        client.wait_end()
    gone(pid)


@pytest.mark.parametrize("state", ["running", "python", "native"])
def test_disconnect_without_ending_the_program(
    client: Client, program: Write, tmp_path: Path, native_samples: Path, state: str
) -> None:
    mark = tmp_path / "mark"
    path = program(
        f"import sys\nsys.path.insert(0, {str(native_samples)!r})\nimport sample_pybind\n"
        + WRITES_AT_THE_END.replace(
            "print('running', flush=True)", "sample_pybind.add(1, 2)\nprint('running')"
        )
    )
    arguments = {"program": str(path), "args": [str(mark)]}
    add = line_of(PYBIND, "double sum")
    wanted = {"python": {"lines": {path: [6]}}, "native": {"lines": {PYBIND: [add]}}}
    client.start(arguments, **wanted.get(state, {}))
    if state == "running":
        client.wait_output("running")
    else:
        client.stopped()
    pid = process_id(client)
    client.request("disconnect", {"terminateDebuggee": False})
    client.wait_end()
    wait_until(lambda: mark.exists() and mark.read_text() == "the end", what="the program's own end")
    gone(pid)


@pytest.mark.parametrize("how", ["terminate", "kill"])
def test_the_program_ends_before_it_is_let_run(client: Client, program: Write, how: str) -> None:
    client.initialize()
    launched = client.send("launch", {"program": str(program(RUNS_ON))})
    client.initialized(launched)
    pid = process_id(client)
    if how == "terminate":
        client.request("terminate")
    else:
        os.kill(pid, signal.SIGKILL)
    assert client.event("exited") == {"exitCode": 137}
    client.event("terminated")
    with pytest.raises(Refused, match="ended before it was let run"):
        client.answer(launched)
    gone(pid)
    client.request("disconnect")
    client.wait_end()


def test_terminate_while_gdb_holds_the_program_for_a_moment(client: Client, program: Write) -> None:
    """During a look at a running program: one that is killed there is a zombie until gdb looks."""
    client.start({"program": str(program(RUNS_ON))})
    process_id(client)
    for _ in range(4):
        client.wait_output("running")
        module = client.request("modules", {"startModule": 0, "moduleCount": 1})["modules"][0]
        place = module["addressRange"].partition("-")[0]
        looks = [client.send("readMemory", {"memoryReference": place, "count": 1 << 16}) for _ in range(40)]
        client.answer(looks[2])
        client.request("terminate")
        assert client.event("exited") == {"exitCode": 137}
        client.event("terminated")
        client.output = ""
        client.request("restart")


def test_terminate_can_be_an_interrupt(client: Client, program: Write) -> None:
    path = program(
        "import time\ntry:\n    print('running', flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    client.start({"program": str(path), "onTerminate": "KeyboardInterrupt"})
    client.wait_output("running")
    client.request("terminate")
    assert client.event("exited") == {"exitCode": 0}
    client.wait_output("interrupted")


@pytest.mark.parametrize(
    ("code", "status", "text"),
    rows.some(
        [
            ("import sys; sys.exit(5)", 5, ""),
            ("raise SystemExit('a word')", 1, "a word"),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, "SIGKILL"),
            ("1 / 0", 1, "ZeroDivisionError"),
            ("import os; os._exit(6)", 6, ""),
            ("syntax error", 1, "SyntaxError"),
        ],
        3,
    ),
)
def test_how_it_ended(client: Client, code: str, status: int, text: str) -> None:
    client.start({"code": code})
    assert client.event("exited") == {"exitCode": status}
    client.event("terminated")
    client.wait_output(text)


def test_all_of_the_output_comes_before_the_end(client: Client) -> None:
    client.start({"code": "print('x' * 3_000_000 + 'END')"})
    client.event("terminated")
    assert client.output.count("x") == 3_000_000
    assert client.output.endswith("END\n")


def test_the_target_is_killed_from_outside(client: Client, program: Write) -> None:
    path = program(RUNS_ON)
    client.start({"program": str(path)}, lines={path: [3]})
    client.stopped()
    os.kill(process_id(client), signal.SIGKILL)
    assert client.event("exited") == {"exitCode": 137}
    client.event("terminated")
    assert "ended" in client.refused("stackTrace", {"threadId": 1})


def test_cancel(client: Client, program: Write) -> None:
    path = program(RUNS_ON)
    client.start({"program": str(path)}, lines={path: [3]})
    thread = client.stopped()["threadId"]
    frame = client.stack(thread)[0]
    slow = client.send(
        "evaluate", {"expression": f"__import__('time').sleep({patient(5)})", "frameId": frame["id"]}
    )
    client.request("cancel", {"requestId": slow})
    with pytest.raises(Refused, match="cancelled"):
        client.answer(slow, seconds=patient(3))
    client.request("cancel", {"requestId": 10_000})
    client.request("cancel", {})


# -- the end of the adapter ---------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["of the program", "disconnect", "terminate", "noDebug"])
def test_nothing_is_left_open_of_which_python_would_warn(
    end: str, program: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client keeps its end of the adapter's input open, as editors do that end a session by a request."""
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    path = program("x = 1\nprint(x, flush=True)\n")
    adapter = StdioAdapter()
    client = adapter.client
    if end == "noDebug":
        client.initialize()
        client.request("launch", {"program": str(path), "noDebug": True})
    else:
        client.start({"program": str(path)}, lines={path: [2]})
        thread = client.stopped()["threadId"]
        if end == "of the program":
            client.go("continue", thread)
    if end == "terminate":
        client.request("terminate")
    if end != "disconnect":
        client.event("terminated")
    client.request("disconnect")
    client.wait_end()
    assert adapter.close() == ""
