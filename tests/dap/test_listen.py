"""A server that listens: clients that come, vanish and come again, its own program, command lines that are refused."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests import warm
from tests.cli.driver import DUALDBG, dualdbg, environment
from tests.support import is_running

from .client import Client, Message, Refused, StdioAdapter, connect
from .server import Server, gone, process_id

Write = Callable[..., Path]

RUNS_ON = "import time\nprint('running', flush=True)\nx = 1\nwhile True:\n    time.sleep(0.01)\n"


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    _, errors = started.close()
    assert errors == ""


def test_several_sessions_on_one_port(server: Server, program: Write) -> None:
    clients = [connect(server.port) for _ in range(3)]
    path = program("x = 1\ny = 2\n")
    pids = []
    for client in clients:
        client.start({"program": str(path)}, lines={path: [2]})
        pids.append(process_id(client))
    for client, pid in zip(clients, pids, strict=True):
        thread = client.stopped()["threadId"]
        assert thread == pid
    clients[0].close()  # vanishes
    gone(pids[0])
    for client in clients[1:]:
        client.go("continue", client.request("threads")["threads"][0]["id"])
        assert client.event("exited")["exitCode"] == 0
        client.request("disconnect")
        client.wait_end()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("listening", [True, False])
def test_the_status_says_which_signal_ended_the_adapter(
    listening: bool, number: signal.Signals, program: Write
) -> None:
    """128 + N, as docs/command-line.md promises; the program is ended first."""
    if listening:
        server = Server()
        process, client = server.process, connect(server.port)
    else:
        adapter = StdioAdapter()
        process, client = adapter.process, adapter.client
    client.start({"program": str(program(RUNS_ON))})
    pid = process_id(client)
    client.wait_output("running")
    process.send_signal(number)
    assert process.wait(patient(60)) == 128 + number
    gone(pid)
    client.wait_end()
    errors = server.close()[1] if listening else adapter.close()
    assert errors == ""


def test_the_server_ends_with_its_program_where_the_client_does_not_disconnect(
    program: Write, tmp_path: Path
) -> None:
    """Who has started it waits for that. It leaves nothing open of which Python would warn."""
    path = program("print('done', flush=True)\n")
    server = Server("--log-dir", str(tmp_path / "logs"), str(path), PYTHONWARNINGS="error")
    client = connect(server.port)
    client.start({}, command="attach")
    client.event("terminated")
    assert server.process.wait(patient(60)) == 0
    client.wait_end()
    assert server.close() == (0, "")


def test_the_server_ends_its_programs_when_it_is_ended(program: Write) -> None:
    server = Server()
    client = connect(server.port)
    client.start({"program": str(program(RUNS_ON))})
    pid = process_id(client)
    client.wait_output("running")
    server.close()
    gone(pid)
    client.wait_end()


def test_attach_to_a_server_with_a_program_as_vs_code_does(program: Write) -> None:
    path = program("import sys\nprint(sys.argv, flush=True)\nx = 1\nsys.exit(4)\n")
    server = Server("--break", "no_such_function", str(path), "--one", "two")
    client = connect(server.port)
    arguments = {
        "name": "Python and C++",
        "type": "debugpy",
        "request": "attach",
        "connect": {"host": "127.0.0.1", "port": server.port},
        "justMyCode": True,
        "subProcess": True,
        "debugOptions": ["RedirectOutput", "ShowReturnValue"],
        "workspaceFolder": str(path.parent),
        "clientOS": "unix",
        "__configurationTarget": 6,
        "__sessionId": "x",
    }
    client.start(arguments, lines={path: [3]}, command="attach")
    other = connect(server.port)
    other.initialize()
    assert "another client debugs this program" in other.refused("attach", {})
    other.request("disconnect")
    stop = client.stopped()
    assert client.stack(stop["threadId"])[0]["line"] == 3
    client.go("continue", stop["threadId"])
    assert client.event("exited")["exitCode"] == 4
    client.event("terminated")
    client.request("disconnect")
    assert server.process.wait(patient(60)) == 4, "the server ends with its program, and as it did"
    server.close()
    assert server.process.stdout and "'--one', 'two'" in server.process.stdout.read()


def test_a_client_that_restarts_by_coming_again(program: Write) -> None:
    path = program("x = 1\n")
    server = Server(str(path))
    for restart in (True, False):
        client = connect(server.port)
        client.start({}, lines={path: [1]}, command="attach")
        client.stopped()
        client.request("disconnect", {"restart": restart})
        client.wait_end()
    server.process.wait(patient(60))
    server.close()


ROUNDS = """\
import os, time
print(os.getpid(), flush=True)
while not os.path.exists({end!r}):
    time.sleep(0.02)
    round = 1
raise SystemExit(5)
"""


def attached(server: Server, lines: dict[str | Path, list[int | Message]]) -> Client:
    """A client of the server's program, as soon as the one before it is gone."""
    while True:
        client = connect(server.port)
        try:
            client.start({}, lines=lines, command="attach")
            return client
        except Refused as refused:
            assert "another client" in str(refused)
            client.close()


@pytest.mark.parametrize("vanishes", [False, True])
@pytest.mark.parametrize("stopped", [False, True])
def test_the_servers_program_outlives_its_client_and_is_attached_to_again(
    program: Write, tmp_path: Path, vanishes: bool, stopped: bool
) -> None:
    end = tmp_path / "end"
    path = program(ROUNDS.format(end=str(end)))
    server = Server(str(path))
    pids = []
    for attempt in range(3):
        client = attached(server, {path: [5]} if stopped or attempt else {})
        pids.append(process_id(client))
        if stopped or attempt:
            assert client.stack(client.stopped()["threadId"])[0]["line"] == 5
        if attempt == 2:
            break
        if not vanishes:
            client.request("disconnect")
        client.close()
    end.touch()
    client.set_lines(path, [])
    client.go("continue", client.request("threads")["threads"][0]["id"])
    assert client.event("exited")["exitCode"] == 5
    client.event("terminated")
    client.request("disconnect")
    assert len(set(pids)) == 1
    assert server.process.wait(patient(60)) == 5
    assert server.close()[1] == ""


def test_a_program_that_nobody_debugs_any_more_ends_the_server_with_itself(
    program: Write, tmp_path: Path
) -> None:
    end = tmp_path / "end"
    server = Server(str(program(ROUNDS.format(end=str(end)))))
    client = connect(server.port)
    client.start({}, command="attach")
    client.request("disconnect")
    client.wait_end()
    assert server.process.poll() is None
    end.touch()
    assert server.process.wait(patient(60)) == 5


def test_a_program_that_nobody_debugs_any_more_ends_with_the_server(program: Write, tmp_path: Path) -> None:
    server = Server(str(program(ROUNDS.format(end=str(tmp_path / "end")))))
    client = connect(server.port)
    client.start({}, command="attach")
    pid = process_id(client)
    client.request("disconnect")
    client.wait_end()
    assert is_running(pid)
    assert server.close() == (128 + signal.SIGTERM, "")
    gone(pid)


@pytest.mark.parametrize("by", ["disconnect", "restart"])
def test_a_program_that_was_attached_to_again_begins_again(program: Write, tmp_path: Path, by: str) -> None:
    path = program(ROUNDS.format(end=str(tmp_path / "end")))
    server = Server(str(path))
    client = attached(server, {})
    first = process_id(client)
    client.request("disconnect")
    client.wait_end()
    client = attached(server, {path: [5]})
    client.stopped()
    if by == "restart":
        client.request("restart")
    else:
        client.request("disconnect", {"restart": True})
        client.wait_end()
        client = attached(server, {path: [5]})
    client.stopped(reason="breakpoint")
    gone(first)
    client.request("disconnect", {"terminateDebuggee": True})
    assert server.process.wait(patient(60)) == 128 + signal.SIGKILL


@pytest.mark.parametrize("how", ["terminate", "disconnect"])
def test_the_servers_program_is_ended_where_the_client_says_so(
    program: Write, tmp_path: Path, how: str
) -> None:
    server = Server(str(program(ROUNDS.format(end=str(tmp_path / "end")))))
    client = connect(server.port)
    client.start({}, command="attach")
    pid = process_id(client)
    if how == "terminate":
        client.request("terminate")
        client.event("terminated")
        client.request("disconnect")
    else:
        client.request("disconnect", {"terminateDebuggee": True})
    gone(pid)
    assert server.process.wait(patient(60)) == 128 + signal.SIGKILL
    server.close()


def test_there_is_nothing_to_attach_to(server: Server) -> None:
    client = connect(server.port)
    client.initialize()
    message = client.refused("attach", {"connect": {"host": "127.0.0.1", "port": server.port}})
    assert "no program here to attach to" in message and "dualdbg dap --listen" in message
    client.request("disconnect")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--listen", "nowhere"], "is no address to listen on"),
        (["--listen", "99999"], "is no address to listen on"),
        (["--listen", "1.2.3.4:5678"], "cannot listen on 1.2.3.4:5678"),
        (["program.py"], "needs --listen"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_bad_command_lines(words: list[str], message: str) -> None:
    done = dualdbg("dap", *words)
    assert done.status == 2 and message in done.stderr and "Traceback" not in done.stderr


def test_standard_streams_that_are_no_editor(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    with empty.open() as nothing:
        done = warm.run([*DUALDBG, "dap"], stdin=nothing, text=True, env=environment())
    assert done.returncode == 2 and "no editor is at the other end" in done.stderr


def test_a_port_that_is_in_use(server: Server) -> None:
    done = dualdbg("dap", "--listen", str(server.port))
    assert done.status == 2 and "it is in use" in done.stderr
