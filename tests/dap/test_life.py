"""The life of a session: restart, terminate, disconnect, cancel, listening, several clients, clients that vanish."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import rows
from tests.support import ROOT, is_running, wait_until

from .client import Client, Message, Refused, StdioAdapter, connect
from .samples import PYBIND, line_of

Write = Callable[..., Path]

RUNS_ON = "import time\nprint('running', flush=True)\nx = 1\nwhile True:\n    time.sleep(0.01)\n"
WRITES_AT_THE_END = """\
import sys, time
print('running', flush=True)
time.sleep(0.2)
open(sys.argv[1], 'w').write('the end')
"""


def process_id(client: Client) -> int:
    return int(client.event("process")["systemProcessId"])


def gone(pid: int) -> None:
    wait_until(lambda: not is_running(pid), what=f"the end of process {pid}")


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
        4,
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
    slow = client.send("evaluate", {"expression": "__import__('time').sleep(5)", "frameId": frame["id"]})
    client.request("cancel", {"requestId": slow})
    with pytest.raises(Refused, match="cancelled"):
        client.answer(slow, seconds=3)
    client.request("cancel", {"requestId": 10_000})
    client.request("cancel", {})


# -- listening --------------------------------------------------------------------------------------


class Server:
    """``dualdbg dap --listen 0``."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dualdbg", "dap", "--listen", "0", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            text=True,
        )
        assert self.process.stderr
        line = self.process.stderr.readline()
        match = re.fullmatch(r"dualdbg: waiting for an editor on 127\.0\.0\.1:(\d+)\n", line)
        assert match, line + self.process.stderr.read()
        self.port = int(match[1])
        self._rest = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        self._rest = self.process.stderr.read()

    def close(self) -> tuple[int, str]:
        """End it; its status and what it wrote to stderr after the first line."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self._reader.join(5)
        return status, self._rest


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
    assert process.wait(60) == 128 + number
    gone(pid)
    client.wait_end()
    errors = server.close()[1] if listening else adapter.close()
    assert errors == ""


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
    assert server.process.wait(60) == 4, "the server ends with its program, and as it did"
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
    server.process.wait(60)
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
    assert server.process.wait(60) == 5
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
    assert server.process.wait(60) == 5


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
    assert server.process.wait(60) == 128 + signal.SIGKILL


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
    assert server.process.wait(60) == 128 + signal.SIGKILL
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
    done = subprocess.run(
        [sys.executable, "-m", "dualdbg", "dap", *words], capture_output=True, text=True, cwd=ROOT, timeout=30
    )
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


def test_standard_streams_that_are_no_editor(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    with empty.open() as nothing:
        done = subprocess.run(
            [sys.executable, "-m", "dualdbg", "dap"],
            stdin=nothing,
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=30,
        )
    assert done.returncode == 2 and "no editor is at the other end" in done.stderr


def test_a_port_that_is_in_use(server: Server) -> None:
    words = ["--listen", str(server.port)]
    done = subprocess.run(
        [sys.executable, "-m", "dualdbg", "dap", *words], capture_output=True, text=True, cwd=ROOT, timeout=30
    )
    assert done.returncode == 2 and "it is in use" in done.stderr
