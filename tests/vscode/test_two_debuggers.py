"""``dualdbg vscode start-for-two``: a program that two debuggers attach to, with no picker and no password."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from dualdbg.patience import patient
from dualdbg.protocol import dap
from dualdbg.vscode.folder import set_member
from dualdbg.vscode.jsonc import parse
from tests import rows, warm
from tests.dap.client import Client
from tests.dap.test_admission import NOBODY, as_root, by_nobody, run_by_nobody
from tests.support import ROOT, other_interpreter, require


def value(path: Path) -> object:
    node = parse(path.read_text(), "test")
    assert node is not None
    return node.value


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, '{\n    "dualdbg.pid": 7\n}\n'),
        ("// mine\n", '// mine\n{\n    "dualdbg.pid": 7\n}\n'),
        ('{ "dualdbg.pid": 123456, /* mine */ }', '{ "dualdbg.pid": 7, /* mine */ }'),
        ('{\n  "a": 1 // one\n}\n', '{\n  "a": 1, // one\n  "dualdbg.pid": 7\n}\n'),
    ],
)
def test_set_member(tmp_path: Path, before: str | None, after: str) -> None:
    path = tmp_path / ".vscode" / "settings.json"
    if before is not None:
        path.parent.mkdir()
        path.write_text(before)
    set_member(path, "dualdbg.pid", 7)
    assert path.read_text() == after


_MARK = "TEST_WAITING"  # in the environment of the program and of what it starts


class Waiting:
    """A program that `start-for-two` has started, and that waits for an editor."""

    def __init__(self, folder: Path, source: str, *words: str, python: str | Path = sys.executable) -> None:
        self.settings = folder / ".vscode" / "settings.json"
        self.program = folder / "program.py"
        self.program.write_text(source)
        self.port = free_port()
        options = ["--port", str(self.port), "--settings", str(self.settings), "--python", str(python)]
        self.process = warm.Popen(
            [sys.executable, "-m", "dualdbg", "vscode", "start-for-two", *options, str(self.program), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, _MARK: str(folder)},
        )
        assert self.process.stderr is not None
        self.ready = self.process.stderr.readline()  # the task's problem matcher waits for the same line

    def listening(self) -> list[int]:
        """The ports of the program, and of whatever it has started, on which somebody listens."""
        ports = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):  # it has ended, or is another user's
                if process.environ().get(_MARK) == str(self.program.parent):
                    connections = process.net_connections()
                    ports += [one.laddr.port for one in connections if one.status == psutil.CONN_LISTEN]
        return ports

    def gdb_continues(self) -> None:
        """gdb comes where cppdbg would, and stays until the program's end."""
        done = subprocess.run(
            [_gdb(), "-nx", "-q", "-batch", "-p", str(self.process.pid), "-ex", "continue"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patient(120),
        )
        assert "exited normally" in done.stdout, done.stdout + done.stderr

    def ends(self) -> tuple[str, str]:
        """What it has written, on standard output and standard error, when it has ended well."""
        output, errors = self.process.communicate(timeout=patient(60))
        assert self.process.returncode == 0, errors
        return output, errors


Start = Callable[..., Waiting]


def _gdb() -> str:
    return require(shutil.which("gdb"), "gdb")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    _gdb()
    all_of_them: list[Waiting] = []

    def one(source: str, *words: str, **more: Any) -> Waiting:
        all_of_them.append(Waiting(tmp_path, source, *words, **more))
        return all_of_them[-1]

    yield one
    for waiting in all_of_them:
        waiting.process.kill()
        waiting.process.communicate()


@contextmanager
def an_editor(waiting: Waiting, *lines: int) -> Iterator[Client]:
    """VS Code's Python half, as far as the program's beginning; with breakpoints."""
    with socket.create_connection(("127.0.0.1", waiting.port), 30) as connection:
        connection.settimeout(None)
        stream = connection.makefile("rwb", buffering=0)
        client = Client(stream, stream)  # type: ignore[arg-type]  # a SocketIO, which is no BinaryIO to typeshed
        client.start(
            {"justMyCode": True, "subProcess": False}, lines={waiting.program: [*lines]}, command="attach"
        )
        yield client


@pytest.mark.smoke
def test_program_waits_for_both_and_its_id_is_in_the_settings(start: Start, tmp_path: Path) -> None:
    """As VS Code does it, with gdb where cppdbg would be: both attach at the same time."""
    waiting = start(
        "import os, sys\nprint('ran', os.getpid(), __name__, sys.argv[1:], sys.path[0], flush=True)\n", "-x"
    )
    pid = waiting.process.pid
    assert waiting.ready == f"dualdbg: waiting for an editor on 127.0.0.1:{waiting.port}, process {pid}\n"
    assert value(waiting.settings) == {"dualdbg.pid": pid}
    with an_editor(waiting):
        assert "TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text()
        waiting.gdb_continues()
    assert waiting.ends()[0] == f"ran {pid} __main__ ['-x'] {tmp_path}\n"


PROGRAM = """\
import json

def work(value):
    text = json.dumps(value)
    return text

print(work([1, 2]), flush=True)
"""


@pytest.mark.parametrize("version", rows.versions())
def test_the_python_half(version: str, start: Start) -> None:
    """What an editor asks for: breakpoints, values, steps. Without an adapter it speaks to pydevd itself."""
    waiting = start(PROGRAM, python=other_interpreter(version))
    with an_editor(waiting, 4) as editor:
        assert waiting.listening() == []
        with ThreadPoolExecutor() as pool:
            gdb = pool.submit(waiting.gdb_continues)
            thread = editor.stopped(reason="breakpoint")["threadId"]
            frame = editor.stack(thread)[0]
            assert (frame["name"], frame["line"]) == ("work", 4)
            assert editor.scope(frame)["value"]["value"] == "[1, 2]"
            assert editor.evaluate("len(value) + 40", frame)["result"] == "42"
            editor.go("stepIn", thread)  # over json, which is not the user's own code
            editor.stopped(reason="step")
            assert editor.stack(thread)[0]["line"] == 5
            editor.go("continue", thread)
            gdb.result()
    assert waiting.ends()[0] == "[1, 2]\n"


THREADS = """\
import threading, time

over = False
def work():
    while not over:
        time.sleep(0.01)

worker = threading.Thread(target=work)
worker.start()
worker.join()
"""


def test_a_pause_is_for_all_threads(start: Start) -> None:
    """Also where the thread that the editor names is in a call that does not end before."""
    waiting = start(THREADS)
    with an_editor(waiting, 5) as editor, ThreadPoolExecutor() as pool:
        gdb = pool.submit(waiting.gdb_continues)
        worker = editor.stopped(reason="breakpoint")["threadId"]
        editor.set_lines(waiting.program, [])
        main = next(one["id"] for one in editor.request("threads")["threads"] if one["id"] != worker)
        editor.go("continue", worker)
        editor.go("pause", main)
        thread = editor.stopped(reason="pause")["threadId"]
        frame = next(one for one in editor.stack(thread) if one["name"] == "work")
        editor.evaluate("globals().update(over=True)", frame)
        editor.go("continue", thread)
        gdb.result()
    waiting.ends()


FORKS = """\
import os

def work():
    return os.getpid()

child = os.fork()
if child == 0:
    work()
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_a_forked_child_does_not_stop_where_nobody_hears_of_it(start: Start) -> None:
    waiting = start(FORKS)
    with an_editor(waiting, 4):
        waiting.gdb_continues()
    assert waiting.ends()[0] == "7\n"


# -- who may come -----------------------------------------------------------------------------------


def attack(mark: Path) -> bytes:
    """The messages by which whoever is heard runs a command in the program."""
    run = {"expression": f"__import__('os').system('touch {mark}')", "context": "repl"}
    wanted: list[tuple[str, Any]] = [
        ("initialize", {"adapterID": "x", "pathFormat": "path"}),
        ("attach", {"justMyCode": False}),
        ("configurationDone", {}),
        ("evaluate", run),
    ]
    return b"".join(dap.encode(dap.request(seq, *one)) for seq, one in enumerate(wanted, 1))


@as_root
def test_another_user_is_not_heard(start: Start, tmp_path: Path) -> None:
    """Neither on the port, nor on another one: the program and what it has started have none."""
    mark = tmp_path / "mark"
    waiting = start("print('ran', flush=True)\n")
    assert waiting.listening() == [waiting.port]
    assert by_nobody(waiting.port, attack(mark)) == b"", "nothing is said"
    assert by_nobody(waiting.port, attack(mark)) == b""
    with an_editor(waiting):
        assert waiting.listening() == []
        waiting.gdb_continues()
    output, errors = waiting.ends()
    assert output == "ran\n"
    assert errors.count("\n") == 1 and f"a client was turned away: it is user {NOBODY}'s" in errors
    assert not mark.exists()


@as_root
def test_another_user_who_hangs_up_at_once_is_not_taken_for_root(start: Start, tmp_path: Path) -> None:
    """The kernel says user 0 of a socket whose owner has closed it."""
    mark = tmp_path / "mark"
    waiting = start("print('ran', flush=True)\n")
    code = (
        "import socket, sys\n"
        f"connection = socket.create_connection(('127.0.0.1', {waiting.port}), timeout=120)\n"
        "connection.sendall(sys.stdin.buffer.read())\nconnection.close()\n"
    )
    waiting.process.send_signal(signal.SIGSTOP)  # it looks when the other end is closed already
    try:
        run_by_nobody(code, attack(mark))
    finally:
        waiting.process.send_signal(signal.SIGCONT)
    with an_editor(waiting):
        waiting.gdb_continues()
    waiting.ends()
    assert not mark.exists()


def test_a_web_page_is_not_heard(start: Start, tmp_path: Path) -> None:
    """A browser sends what a page says, behind lines of its own; and it opens connections that say nothing yet."""
    mark = tmp_path / "mark"
    waiting = start("print('ran', flush=True)\n")
    with socket.create_connection(("127.0.0.1", waiting.port), 30):
        with socket.create_connection(("127.0.0.1", waiting.port), 30) as page:
            body = attack(mark)
            page.sendall(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            assert _rest(page) == b""
        with an_editor(waiting):
            waiting.gdb_continues()
    _, errors = waiting.ends()
    assert "such as a web browser" in errors
    assert not mark.exists()


def _rest(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 16)
    except ConnectionResetError:
        return b""


@as_root
def test_a_port_of_another_users_is_not_used(tmp_path: Path) -> None:
    python = require(shutil.which("python3", path=os.defpath), "a Python that other users may run")
    program = tmp_path / "program.py"
    program.write_text("print('ran')\n")
    code = (
        "import socket, sys\n"
        "held = socket.create_server(('127.0.0.1', 0))\n"
        "print(held.getsockname()[1], flush=True)\nsys.stdin.read()\n"
    )
    options: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/", "env": {}}
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([python, "-ISc", code], **options, **streams) as holder:
        assert holder.stdin is not None and holder.stdout is not None
        port = holder.stdout.readline().strip()
        done = _start_for_two(
            ["--port", port, "--settings", str(tmp_path / "s.json"), str(program)], tmp_path
        )
        holder.stdin.close()
    assert (done.returncode, done.stdout) == (3, "")
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in done.stderr
    assert "--port N" in done.stderr
    assert not (tmp_path / "s.json").exists(), "no debugger is led to a process"


def test_what_cannot_be_started_is_said(tmp_path: Path) -> None:
    for words, why in (
        (["none.py"], "there is no file none.py"),
        (["--port", "70000", __file__], "cannot listen on 127.0.0.1:70000: bind(): port must be 0-65535"),
        (
            ["--python", "/none/python", "--port", "0", __file__],
            "/none/python cannot be started: No such file",
        ),
    ):
        done = _start_for_two(words, tmp_path)
        assert done.returncode in (2, 3)
        assert why in done.stderr


def _start_for_two(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "dualdbg", "vscode", "start-for-two", *words],
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=folder,
        timeout=patient(60),
    )


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])
