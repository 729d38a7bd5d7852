"""Who may come to a port: no web page, no other user, nobody without the secret; and what ends when a client goes."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dualdbg.dap.offer import _STRANGERS
from dualdbg.errors import UsageError
from dualdbg.protocol import dap
from dualdbg.system.patience import patient
from dualdbg.system.secret_file import read_secret
from tests import rows, warm
from tests.support import ROOT, is_running, require, wait_until

from .client import connect
from .server import Server, gone, process_id
from .test_children import follow, session_of

Write = Callable[..., Path]
SECRET = "a secret of a test, long enough"
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.close()


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Server]:
    """A server with a secret."""
    file = tmp_path / "secret"
    file.touch(0o600)
    file.write_text(SECRET + "\n")
    started = Server("--secret-file", str(file))
    yield started
    started.close()


def attack(mark: Path) -> list[bytes]:
    """The messages by which whoever is heard makes the interpreter probe run a command."""
    run = {"python": "/bin/bash", "env": {"BASH_ENV": f"$(touch {mark})"}, "code": "1"}
    return [
        dap.encode(dap.request(1, "initialize", {"adapterID": "x"})),
        dap.encode(dap.request(2, "launch", run)),
    ]


def say(port: int, data: bytes) -> bytes:
    """Everything that is answered to ``data`` until the server closes the connection."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=patient(120)) as connection:
        try:
            connection.sendall(data)
            while more := connection.recv(1 << 16):
                answer += more
        except ConnectionError:  # closed with our words unread
            pass
    return answer


def is_served(port: int, program: Write) -> None:
    """A client of the user's own gets its session."""
    client = connect(port)
    path = program("x = 1\n")
    client.start({"program": str(path)}, lines={path: [1]})
    client.stopped()
    client.close()  # type: ignore[attr-defined]


# -- web pages --------------------------------------------------------------------------------------

HEAD = (
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: Mozilla/5.0\r\nOrigin: http://evil.example\r\n"
    b"Content-Type: text/plain;charset=UTF-8\r\nContent-Length: %d\r\n\r\n"
)


def padded(port: int, messages: bytes) -> bytes:
    """What `fetch(url, {method: "POST", mode: "no-cors", body})` sends: more padding than one message may have."""
    body = b" " * (16 << 20) + messages
    return HEAD % (port, len(body)) + body


def plain(port: int, messages: bytes) -> bytes:
    """The header of HTTP is one of DAP with fields that are not known, and the body a message."""
    return HEAD % (port, len(messages)) + messages


def header_only(port: int, messages: bytes) -> bytes:
    return b"POST / HTTP/1.1\r\nX: \r\n\r\n" + messages


def encrypted(port: int, messages: bytes) -> bytes:
    return b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + messages


@pytest.mark.parametrize("wrapped", [padded, plain, header_only, encrypted])
def test_what_a_web_page_sends_is_not_obeyed(
    server: Server, program: Write, tmp_path: Path, wrapped: Callable[[int, bytes], bytes]
) -> None:
    mark = tmp_path / "mark"
    answer = say(server.port, wrapped(server.port, b"".join(attack(mark))))
    if wrapped is encrypted:
        assert answer == b""
    else:
        assert answer.startswith(b"HTTP/1.1 400 ") or answer == b""  # reset before it could be read
        assert b"Content-Length" not in answer
    is_served(server.port, program)
    assert not mark.exists()
    _, errors = server.close()
    assert errors.count("\n") == 1 and "such as a web browser" in errors


@pytest.mark.slow
def test_a_web_page_in_a_browser(server: Server, program: Write, tmp_path: Path) -> None:
    """The page also tells that it has run, so that the test cannot pass with a browser that does nothing."""
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = require(next(filter(None, map(shutil.which, names)), None), "a headless browser", outside=True)
    mark, sent = tmp_path / "mark", threading.Event()
    messages = json.dumps(b"".join(attack(mark)).decode())
    page = f"""<script>
        const body = " ".repeat(16 << 20) + {messages};
        fetch("http://127.0.0.1:{server.port}/", {{method: "POST", mode: "no-cors", body}})
            .catch(error => 0).then(() => fetch("/sent"));
    </script>"""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/sent":
                sent.set()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode() if self.path == "/" else b"")

        def log_message(self, *_: object) -> None:
            """Nothing is written of it."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
        command = [browser, *options, f"http://127.0.0.1:{site.server_address[1]}/"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                assert sent.wait(patient(60))
            finally:
                process.kill()
                site.shutdown()
    is_served(server.port, program)
    assert not mark.exists()
    _, errors = server.close()
    assert "such as a web browser" in errors


# -- other users ------------------------------------------------------------------------------------


def by_nobody(port: int, data: bytes) -> bytes:
    """:func:`say` by another user."""
    code = (
        "import socket, sys\n"
        f"connection = socket.create_connection(('127.0.0.1', {port}), timeout=120)\n"
        "try:\n"
        "    connection.sendall(sys.stdin.buffer.read())\n"
        "    while more := connection.recv(1 << 16):\n"
        "        sys.stdout.buffer.write(more)\n"
        "        sys.stdout.flush()\n"
        "except ConnectionError:\n"
        "    pass\n"
    )
    return run_by_nobody(code, data)


def run_by_nobody(code: str, data: bytes) -> bytes:
    python = require(shutil.which("python3", path=os.defpath), "a Python that other users may run")
    options: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/", "env": {}}
    done = subprocess.run(
        [python, "-ISc", code], input=data, capture_output=True, timeout=patient(60), **options
    )
    assert done.stderr == b""
    return done.stdout


@as_root
def test_another_user_is_not_heard(server: Server, program: Write, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert by_nobody(server.port, b"".join(attack(mark))) == b"", "nothing is said"
    is_served(server.port, program)
    assert not mark.exists()
    _, errors = server.close()
    assert f"it is user {NOBODY}'s" in errors and "--secret-file" in errors and errors.count("\n") == 1


@as_root
def test_another_user_who_hangs_up_at_once_is_not_taken_for_root(
    server: Server, program: Write, tmp_path: Path
) -> None:
    """The kernel says user 0 of a socket whose owner has closed it."""
    mark = tmp_path / "mark"
    code = (
        "import socket, sys\n"
        f"connection = socket.create_connection(('127.0.0.1', {server.port}), timeout=120)\n"
        "connection.sendall(sys.stdin.buffer.read())\nconnection.close()\n"
    )
    server.process.send_signal(signal.SIGSTOP)  # it looks when the other end is closed already
    try:
        run_by_nobody(code, b"".join(attack(mark)))
    finally:
        server.process.send_signal(signal.SIGCONT)
    is_served(server.port, program)  # who comes later is looked at later
    server.close()
    assert not mark.exists()


@as_root
def test_another_user_who_knows_the_secret_is_served(guarded: Server) -> None:
    begin = dap.encode(dap.request(1, "initialize", {"adapterID": "x"}))
    wanted = {"code": "1", "console": "internalConsole", "secret": SECRET}
    end = dap.encode(dap.request(3, "disconnect"))
    answer = by_nobody(guarded.port, begin + dap.encode(dap.request(2, "launch", wanted)) + end)
    assert b"this port" not in answer and b'"command":"disconnect","success":true' in answer


# -- the secret ---------------------------------------------------------------------------------------


def test_with_the_secret_there_is_a_session(guarded: Server, program: Write) -> None:
    client = connect(guarded.port)
    path = program("x = 1\n")
    client.start({"program": str(path), "secret": SECRET}, lines={path: [1]})
    client.stopped()
    assert "secret" not in " ".join(event["body"]["output"] for event in client.events("output"))
    client.request("disconnect")
    client.wait_end()
    assert guarded.close()[1] == ""


@pytest.mark.parametrize(
    "shown",
    rows.some(
        [
            {},
            {"secret": SECRET[:-1]},
            {"secret": [SECRET]},
            {"childToken": SECRET},
            {"secret": ""},
            {"secret": None},
            {"secret": "\ud800" * 20},
        ],
        4,
    ),
)
@pytest.mark.parametrize("command", ["launch", "attach"])
def test_without_the_secret_nothing_begins(
    guarded: Server, tmp_path: Path, command: str, shown: dict[str, Any]
) -> None:
    mark = tmp_path / "mark"
    client = connect(guarded.port)
    client.initialize()
    elsewhere = {"connect": {"host": "127.0.0.1", "port": 9}}
    run = {"python": "/bin/bash", "env": {"BASH_ENV": f"$(touch {mark})"}, "code": "1", **elsewhere, **shown}
    assert ("is gone" if "childToken" in shown else "secret") in client.refused(command, run)
    client.wait_end()
    assert not mark.exists()
    assert "turned away" in guarded.close()[1]


@pytest.mark.parametrize(
    "command", rows.some(["evaluate", "threads", "setBreakpoints", "restart", "nonsense"], 2)
)
def test_before_the_secret_nothing_is_answered(guarded: Server, command: str) -> None:
    client = connect(guarded.port)
    client.initialize()
    assert "secret" in client.refused(command, {})
    client.wait_end()


def test_the_secret_is_not_in_the_log(tmp_path: Path, program: Write) -> None:
    made = tmp_path / "made"
    server = Server("--secret-file", str(made), "--log-dir", str(tmp_path / "log"))
    secret = made.read_text().strip()
    assert made.stat().st_mode & 0o777 == 0o600 and len(secret) > 40
    client = connect(server.port)
    client.start({"program": str(program("print('end')\n")), "secret": secret})
    client.event("terminated")
    client.request("disconnect")
    server.close()
    texts = [path.read_text() for path in (tmp_path / "log").iterdir()]
    assert any("initialize" in text for text in texts) and not any(secret in text for text in texts)


def test_children_come_by_the_word_that_they_have(guarded: Server, program: Write) -> None:
    path = program("import os\npid = os.fork()\nif pid:\n    os.wait()\nx = 1\n")
    client = connect(guarded.port)
    asked = follow(client)
    client.start({"program": str(path), "secret": SECRET})
    child, wanted = session_of(client, asked)
    assert "secret" not in wanted
    child.start(wanted, lines={path: [5]}, command="attach")
    thread = child.stopped()["threadId"]
    child.go("continue", thread)
    assert client.event("exited")["exitCode"] == 0


def test_too_many_who_say_nothing_do_not_keep_others_out(guarded: Server, program: Write) -> None:
    silent = [socket.create_connection(("127.0.0.1", guarded.port)) for _ in range(_STRANGERS + 20)]
    silent[0].settimeout(30)
    assert silent[0].recv(1) == b"", "the first has to go"
    client = connect(guarded.port)
    path = program("x = 1\n")
    client.start({"program": str(path), "secret": SECRET}, lines={path: [1]})
    client.stopped()
    for one in silent:
        one.close()


@pytest.mark.parametrize(
    ("text", "mode", "why"),
    [
        ("", 0o600, "that can be guessed"),
        ("short\n", 0o600, "that can be guessed"),
        (SECRET, 0o644, "open to other users"),
        (SECRET, 0o660, "open to other users"),
        ("\xff\xfe" * 20, 0o600, "it is not text"),
    ],
)
def test_files_that_hold_no_secret(tmp_path: Path, text: str, mode: int, why: str) -> None:
    file = tmp_path / "secret"
    file.write_bytes(text.encode("latin-1"))
    file.chmod(mode)
    with pytest.raises(UsageError, match=why) as caught:
        read_secret(str(file))
    assert caught.value.hint


@pytest.mark.parametrize("kind", [Path.mkdir, os.mkfifo])
def test_a_secret_is_in_a_regular_file(tmp_path: Path, kind: Callable[[Path], None]) -> None:
    kind(tmp_path / "secret")
    with pytest.raises(UsageError, match="cannot be read") as caught:
        read_secret(str(tmp_path / "secret"))
    assert caught.value.hint


def test_a_secret_file_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be made: No such file"):
        read_secret(str(tmp_path / "no" / "folder"))


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_other_machines_need_a_secret(address: str) -> None:
    command = [sys.executable, "-m", "dualdbg", "dap", "--listen", address]
    done = warm.run(command, text=True, cwd=ROOT, timeout=patient(120))
    assert done.returncode == 2 and "--secret-file" in done.stderr and "Traceback" not in done.stderr


# -- a client that goes -------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["launch", "attach to what the server has"])
def test_what_a_client_began_ends_when_it_goes(tmp_path: Path, command: str) -> None:
    """Its interpreter, which never answers, and what that has started."""
    pids = tmp_path / "pids"
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\nsleep 1000 &\necho $$ $! > {pids}.new\nmv {pids}.new {pids}\nwait\n")
    slow.chmod(0o755)
    if command == "launch":
        server, wanted = Server(), {"code": "1", "python": str(slow), "console": "internalConsole"}
    else:
        server, wanted = Server("--python", str(slow), "-c", "1"), {}
    client = connect(server.port)
    client.initialize()
    client.send("launch" if command == "launch" else "attach", wanted)
    wait_until(pids.exists, 30, "the interpreter's start")
    client.close()  # type: ignore[attr-defined]
    for pid in map(int, pids.read_text().split()):
        wait_until(functools.partial(_is_gone, pid), 5, f"the end of {pid}, long before it would be given up")
    server.close()


def _is_gone(pid: int) -> bool:
    return not is_running(pid)


def test_a_client_that_vanishes_leaves_no_program(server: Server, program: Write) -> None:
    client = connect(server.port)
    client.start({"program": str(program("import time\nwhile True:\n    time.sleep(0.01)\n"))})
    pid = process_id(client)
    client.close()  # type: ignore[attr-defined]
    gone(pid)
