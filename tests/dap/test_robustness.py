"""Clients that do what they should not: each mistake gets an answer, and the session is unharmed."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from dualdbg.protocol import dap
from dualdbg.system.patience import patient
from tests import rows
from tests.support import wait_until

from .client import Client, StdioAdapter
from .server import Server, gone, process_id

Write = Callable[..., Path]


@pytest.fixture
def stopped(client: Client, program: Write) -> int:
    """A session at a Python stop; the thread."""
    path = program("x = 1\ny = 2\nprint('end')\n")
    client.start({"program": str(path)}, lines={path: [2]})
    return int(client.stopped()["threadId"])


def unharmed(client: Client, thread: int) -> None:
    """The session still does what it should, to its end."""
    frame = client.stack(thread)[0]
    assert client.evaluate("x + 1", frame)["result"] == "2"
    client.go("continue", thread)
    assert client.event("exited") == {"exitCode": 0}


MALFORMED = [
    dap.encode({"type": "event", "seq": 1, "event": "x"}),
    dap.encode({"type": "nonsense", "seq": 1}),
    dap.encode({"type": "request", "seq": 1}),
    dap.encode({"type": "request", "command": "threads"}),
    dap.encode({"type": "request", "seq": "one", "command": "threads"}),
    dap.encode({"type": "request", "seq": 1, "command": ["threads"]}),
    dap.encode({"type": "request", "seq": 1, "command": "threads", "arguments": [1]}),
    dap.encode({"type": "response", "seq": 1, "request_seq": 7, "success": True, "command": "x"}),
    dap.encode({"type": "response", "seq": 1}),
]


@pytest.mark.parametrize(
    "data",
    rows.some(
        [
            b"garbage\r\n\r\n",
            b"Content-Length: 99999999999\r\n\r\n",
            b"Content-Length: 3\r\n\r\nabc",
            b"Content-Length: 40000\r\n\r\n" + b"[" * 40000,
            b"Content-Length: many\r\n\r\n",
            b"Content-Length: 2\r\n\r\n[]",
            b"Content-Length: 2\r\n\r\n{}",
            b"Content-Length: 4\r\n\r\n\xff\xfe\xfd\xfc",
            b"x" * 10000 + b"\r\n\r\n",
        ],
        2,
    ),
    ids=lambda data: repr(data[:40]),
)
def test_what_is_no_message_ends_the_session(program: Write, data: bytes) -> None:
    """It says so, and the program that it launched ends with it."""
    adapter = StdioAdapter()
    client = adapter.client
    client.start({"program": str(program("import time; print('on', flush=True); time.sleep(60)"))})
    client.wait_output("on")
    pid = process_id(client)
    client.send_raw(data + dap.encode(dap.request(1000, "threads")))
    client.wait_output("the connection is closed")
    client.wait_end()
    gone(pid)
    assert not client.has_answer(1000)
    errors = adapter.close()
    assert errors.startswith("dualdbg: a client was turned away: ") and errors.count("\n") == 1


BAD_ARGUMENTS: list[tuple[str, dict[str, Any], str]] = [
    ("stackTrace", {}, "threadId is missing"),
    ("stackTrace", {"threadId": "1"}, "threadId is not a number"),
    ("stackTrace", {"threadId": 999999}, "999999"),
    ("scopes", {"frameId": 12345}, "there is no frame 12345"),
    ("scopes", {"frameId": -1}, "there is no frame -1"),
    ("variables", {"variablesReference": 0}, "there is no variables reference 0"),
    ("variables", {"variablesReference": 1 << 40}, "there is no variables reference"),
    ("evaluate", {"expression": 5}, "expression is not a text"),
    ("evaluate", {"expression": "x", "frameId": 12345}, "there is no frame"),
    ("setBreakpoints", {"source": "x"}, "source is not an object"),
    (
        "setBreakpoints",
        {"source": {"path": "/x.py"}, "breakpoints": [{"line": "1"}]},
        "line is not a number",
    ),
    ("setFunctionBreakpoints", {"breakpoints": [{}]}, "name is missing"),
    ("next", {"threadId": 999999}, "there is no thread"),
    ("continue", {}, "threadId is missing"),
    ("source", {"sourceReference": 777}, "there is no source 777"),
    ("source", {}, "read by the editor itself"),
    ("setVariable", {"variablesReference": 1, "name": "x", "value": 5}, "value is not a text"),
    ("initialize", {"adapterID": "x"}, "the program runs already"),
    ("launch", {"code": "1"}, "the program runs already"),
    ("attach", {}, "the program runs already"),
    ("configurationDone", {}, "second time"),
    ("disassemble", {"memoryReference": "0x0", "instructionCount": -1}, "too few"),
]


def test_wrong_messages_requests_and_arguments_are_refused_and_harm_nothing(
    client: Client, stopped: int
) -> None:
    for data in MALFORMED:
        client.send_raw(data)
        client.stack(stopped)
    for command in ("stepBack", "reverseContinue", "terminateThreads", "x" * 1000, "", "évaluer"):
        assert "does not know the request" in client.refused(command)
        client.stack(stopped)
    for command, arguments, message in BAD_ARGUMENTS:
        assert message in client.refused(command, arguments), command
        client.stack(stopped)
    unharmed(client, stopped)


def test_numbers_of_an_earlier_stop_are_refused(client: Client, program: Write) -> None:
    path = program("x = [1]\ny = 2\nz = 3\n")
    client.start({"program": str(path)}, lines={path: [2]})
    thread = client.stopped()["threadId"]
    frame = client.stack(thread)[0]
    value = client.scope(frame)["x"]
    client.go("next", thread)
    client.stopped()
    assert "earlier stop" in client.refused("scopes", {"frameId": frame["id"]})
    assert "earlier stop" in client.refused("variables", {"variablesReference": value["variablesReference"]})
    assert "earlier stop" in client.refused("evaluate", {"expression": "x", "frameId": frame["id"]})
    assert client.scope(client.stack(thread)[0])["y"]["value"] == "2"


def test_requests_before_their_time(client: Client, program: Write) -> None:
    assert "initialize" in client.refused("launch", {"code": "1"})
    assert "initialize" in client.refused("threads")
    client.initialize()
    assert "launch or attach" in client.refused("initialize", {"adapterID": "x"})
    for command in ("threads", "stackTrace", "setBreakpoints", "configurationDone", "continue", "evaluate"):
        assert "launch or attach first" in client.refused(command, {"threadId": 1})
    path = program("x = 1\n")
    launched = client.send("launch", {"program": str(path)})
    client.initialized(launched)
    for command in ("stackTrace", "continue", "evaluate", "next"):
        assert "configurationDone first" in client.refused(command, {"threadId": 1})
    client.request("configurationDone")
    client.answer(launched)
    client.event("terminated")
    for command in ("stackTrace", "continue", "evaluate", "setBreakpoints", "threads"):
        assert "has ended" in client.refused(command, {"threadId": 1})
    client.request("terminate")
    client.request("disconnect")
    client.wait_end()


def test_requests_while_it_runs(client: Client, program: Write) -> None:
    path = program("import time\nprint('running', flush=True)\nwhile True:\n    time.sleep(0.01)\n")
    client.start({"program": str(path)})
    client.wait_output("running")
    thread = client.request("threads")["threads"][0]["id"]
    for command in ("stackTrace", "continue", "next", "stepIn", "stepOut", "exceptionInfo"):
        assert "running" in client.refused(command, {"threadId": thread}), command
    assert client.request("evaluate", {"expression": "1"})["result"] == "1"
    client.go("pause", thread)
    client.stopped(reason="pause")


def test_at_a_native_stop_nothing_waits_for_debugpy(
    client: Client, native_samples: Path, program: Write
) -> None:
    path = program(
        f"""\
import sys, time
sys.path.insert(0, {str(native_samples)!r})
import sample_pybind

def main():
    sample_pybind.outer(1.0, 3)
    time.sleep(0.5)
    print("later")

main()
"""
    )
    client.start({"program": str(path)}, functions=["sample::helper"])
    thread = client.stopped()["threadId"]
    python = next(frame for frame in client.stack(thread) if frame["name"] == "main")
    assert client.request("stepInTargets", {"frameId": python["id"]}) == {"targets": []}
    assert client.request("gotoTargets", {"source": {"path": str(path)}, "line": 8})["targets"] == []
    assert "no goto target" in client.refused("goto", {"threadId": thread, "targetId": 1})
    asked = {"expression": "x", "value": "1", "frameId": python["id"]}
    assert "gdb holds the target" in client.refused("setExpression", asked)
    assert client.set_lines(path, [8])  # kept until debugpy can be told
    client.go("continue", thread)
    client.stopped(reason="breakpoint")
    assert client.stack(thread)[0]["line"] == 8


def read_until(connection: socket.socket, wanted: bytes) -> None:
    connection.settimeout(30)
    text = b""
    while wanted not in text:
        data = connection.recv(1 << 16)
        assert data, f"the connection ended before {wanted!r}: {text!r}"
        text += data


def test_a_client_that_vanishes_in_the_middle_of_starting(program: Write) -> None:
    server = Server()
    connection = socket.create_connection(("127.0.0.1", server.port))
    rows = [
        ("initialize", {"adapterID": "x"}),
        ("launch", {"program": str(program("import time; time.sleep(60)"))}),
    ]
    for seq, (command, arguments) in enumerate(rows, 1):
        connection.sendall(dap.encode(dap.request(seq, command, arguments)))
    read_until(connection, b'"initialized"')
    connection.close()
    status, errors = server.close()
    assert errors == "" and status == 128 + signal.SIGTERM


def test_a_client_that_never_reads(program: Write) -> None:
    """Its program waits for it some seconds and no longer, memory is bounded, and the next client is served."""
    server = Server()
    path = program("import sys, time\nfor _ in range(200):\n    sys.stdout.write('x' * 1_000_000)\n"
                   "open(sys.argv[1], 'w').write('done')\ntime.sleep(60)\n")  # fmt: skip
    mark = path.parent / "mark"
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    rows = [
        ("initialize", {"adapterID": "x"}),
        ("launch", {"program": str(path), "args": [str(mark)]}),
    ]
    for seq, (command, arguments) in enumerate(rows, 1):
        connection.sendall(dap.encode(dap.request(seq, command, arguments)))
    read_until(connection, b'"initialized"')
    connection.sendall(dap.encode(dap.request(3, "configurationDone", {})))
    wait_until(mark.exists, 30, "the program, which must not wait for ever for a client that does not read")
    assert psutil.Process(server.process.pid).memory_info().rss < 300 << 20
    connection.close()
    _, errors = server.close()
    assert errors == ""


def test_a_client_that_reads_slowly_gets_all(adapter: StdioAdapter, program: Write) -> None:
    """The program waits for it, as for a slow terminal; what came is whole and in order."""
    client = adapter.client
    path = program(
        "import os\nfor n in range(150):\n    block = b'%06d' % n * 16000\n"
        "    while block:\n        block = block[os.write(1, block):]\n"
    )
    client.start({"program": str(path)})
    for _ in range(40):
        client.pause_reading(0.1)
    client.event("terminated", seconds=patient(120))
    assert client.output == "".join(f"{n:06d}" * 16000 for n in range(150))
    assert psutil.Process(adapter.process.pid).memory_info().rss < 300 << 20


def test_the_end_of_input_in_the_middle_of_a_message(adapter: StdioAdapter, program: Write) -> None:
    client = adapter.client
    client.start({"program": str(program("import time; print('on', flush=True); time.sleep(60)"))})
    client.wait_output("on")
    pid = process_id(client)
    client.send_raw(b"Content-Length: 100\r\n\r\n{")
    adapter.close()
    gone(pid)
