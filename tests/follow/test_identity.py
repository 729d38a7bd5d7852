"""Who joins a session: the process that calls, as the kernel knows it, and only one that descends from the program."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from dualdbg.target.descent import descends_from
from dualdbg.target.joiner import JOINER
from dualdbg.target.launcher import BOOTSTRAP
from tests.attach.driver import tracer_of
from tests.cli.driver import SECONDS, json_run
from tests.support import require, wait_until

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")

# Calls the session as a descendant would, naming the process of the second argument; prints what is answered.
CALL = """\
import json, os, socket, sys
where = json.loads(sys.argv[3] if len(sys.argv) > 3 else os.environ["DUALDBG_FOLLOW"])
one = socket.socket(socket.AF_UNIX)
one.connect(where["path"])
named = int(sys.argv[2])
hello = {"token": where["token"], "pid": named, "parent": 1, "kind": "exec", "work": "named", "python": "",
         "command": ["named"], "cwd": "/"}
one.sendall(json.dumps(hello).encode() + b"\\n")
print("answer", one.recv(100), flush=True)
"""
NAMES_ANOTHER = f"""\
import json, os, socket, sys  # now: another user may not read the interpreter's folder
if os.fork() == 0:
    os.setgid({NOBODY})
    os.setuid({NOBODY})
    exec(compile({CALL!r}, "call", "exec"))
    os._exit(0)
os.wait()
"""
WRITES_DOWN = """\
import os, sys, time
with open(sys.argv[1] + ".new", "w") as file:
    file.write(os.environ["DUALDBG_FOLLOW"])
os.chmod(sys.argv[1] + ".new", 0o644)
os.rename(sys.argv[1] + ".new", sys.argv[1])
while not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
"""
# Connects as another user and ends. Its child says the rest on the same connection, when the file `done` is there.
CONNECTS_AND_ENDS = f"""\
import array, fcntl, os, socket, sys, termios, time
path, hello, done = sys.argv[1:]
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
one = socket.socket(socket.AF_UNIX)
one.connect(path)
one.sendall(hello[:1].encode())
unread = array.array("i", [1])
while unread[0]:
    fcntl.ioctl(one, termios.TIOCOUTQ, unread)
if os.fork() == 0:
    while not os.path.exists(done):
        time.sleep(0.01)
    one.sendall(hello[1:].encode())
    one.recv(1)
    print("answered", flush=True)
"""
STARTS_ONE_THAT_ENDS = f"""\
import json, os, sys, time
where = json.loads(os.environ["DUALDBG_FOLLOW"])
hello = json.dumps({{"token": where["token"], "kind": "exec", "work": "", "python": ""}}) + "\\n"
words = [sys.executable, "-ISc", {CONNECTS_AND_ENDS!r}, where["path"], hello, sys.argv[2]]
child = os.posix_spawn(sys.executable, words, {{}})
os.waitpid(child, 0)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(child))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""
ORPHAN = """\
import os, sys, time
reading, writing = os.pipe()
if os.fork() == 0:
    parent = os.getpid()
    if os.fork() == 0:
        while os.getppid() == parent:
            time.sleep(0.001)
        if os.fork() == 0:
            value = 42
            os.write(writing, b"x")
            os._exit(0)
        os.wait()
        os._exit(0)
    os._exit(0)
os.wait()
os.close(writing)
os.read(reading, 1)
"""
CHANGES_USER = f"""\
import os
if os.fork() == 0:
    os.setgid({NOBODY})
    os.setuid({NOBODY})
    if os.fork() == 0:
        value = 42
        os._exit(6)
    os._exit(os.WEXITSTATUS(os.wait()[1]))
print("status", os.WEXITSTATUS(os.wait()[1]), flush=True)
"""


@pytest.fixture
def victim() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process.pid
        assert process.poll() is None, "it was ended"
        process.kill()


def write(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(text)
    return path


@as_root
def test_a_process_that_names_another_is_itself(tmp_path: Path, victim: int) -> None:
    """It has joined already, so its call changes nothing."""
    script = write(tmp_path, NAMES_ANOTHER)
    with json_run("--follow", "python", script, "call", str(victim)) as run:
        assert run.next("process")["pid"] != victim
        assert run.next("exited")
        run.finish()
    assert [event for event in run.seen if event.get("pid") == victim] == []
    assert tracer_of(victim) == 0


@as_root
def test_who_is_no_descendant_does_not_join(tmp_path: Path, victim: int) -> None:
    """It knows the token, and is another user's."""
    python = require(shutil.which("python3", path=os.defpath), "a Python that other users may run")
    where, done = tmp_path / "where", tmp_path / "done"
    script = write(tmp_path, WRITES_DOWN)
    with json_run("--follow", "python", script, where, done) as run:
        wait_until(where.exists, SECONDS, "the program")
        stranger = subprocess.run(
            [python, "-ISc", CALL, "call", str(victim), where.read_text()],
            capture_output=True,
            text=True,
            timeout=patient(60),
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            cwd="/",
        )
        closed = stranger.stderr.rpartition("\n")[0].endswith(("Broken pipe", "Connection reset by peer"))
        assert stranger.stdout == "answer b''\n" or closed, stranger
        assert "descends from none of the program's" in run.next("notice")["message"]
        done.touch()
        run.next("exited")
        run.finish()
    assert tracer_of(victim) == 0


@as_root
def test_the_number_of_a_caller_that_has_ended_means_nobody(tmp_path: Path) -> None:
    """Another process may have got it."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        folder = Path(name)
        folder.chmod(0o755)
        number, done = folder / "number", folder / "done"
        with json_run("--follow", "python", write(folder, STARTS_ONE_THAT_ENDS), number, done) as run:
            wait_until(number.exists, SECONDS, "the caller has ended")
            with process_with_number(int(number.read_text())) as heir:
                done.touch()
                while "answered" not in run.next("output")["text"]:
                    pass
                assert "process" not in {event["event"] for event in run.seen}
                run.process.terminate()
                run.finish()
                assert heir.poll() is None, "it was ended"


@contextmanager
def process_with_number(pid: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours that has this number."""
    last = Path("/proc/sys/kernel/ns_last_pid")
    require(last.exists(), "a kernel that lets root choose the next process id", outside=True)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        last.write_text(str(pid - 1))
        with subprocess.Popen(["sleep", "600"]) as process:
            try:
                if process.pid == pid:
                    yield process
                    return
            finally:
                process.kill()
    pytest.fail(f"no process got the number {pid}")


def test_without_the_token_nobody_joins(tmp_path: Path) -> None:
    where, done = tmp_path / "where", tmp_path / "done"
    script = write(tmp_path, WRITES_DOWN)
    with json_run("--follow", "python", script, where, done) as run:
        wait_until(where.exists, SECONDS, "the program")
        path = json.loads(where.read_text())["path"]
        for line in (b'{"token": "guess"}\n', b"[" * 60_000 + b"\n", b"\n", b"x" * 100_000):
            with socket.socket(socket.AF_UNIX) as one:
                one.settimeout(SECONDS)
                one.connect(path)
                try:
                    one.sendall(line)
                    assert one.recv(1) == b""
                except ConnectionError:
                    pass  # it was closed with our words unread
        done.touch()
        run.next("exited")
        run.finish()


def test_an_orphan_joins(tmp_path: Path) -> None:
    script = write(tmp_path, ORPHAN)
    with json_run("--follow", "python", "-b", f"{script}:9", script) as run:
        stop = run.next("stopped")
        assert stop["frame"]["line"] == 9
        run.send("continue")
        run.next("exited")
        run.finish()


@as_root
def test_a_descendant_that_became_another_user_joins() -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        Path(name).chmod(0o755)
        script = write(Path(name), CHANGES_USER)
        with json_run("--follow", "python", "-b", f"{script}:6", script) as run:
            assert run.next("stopped")["process"] == 3
            run.send("next")
            assert run.next("stopped")["frame"]["line"] == 7
            run.send("continue")
            assert run.next("output")["text"].startswith("status 6")


@pytest.mark.parametrize("end", ["good", "killed"])
def test_no_folder_is_left(tmp_path: Path, end: str) -> None:
    where, done = tmp_path / "where", tmp_path / "done"
    script = write(tmp_path, WRITES_DOWN)
    with json_run("--follow", "python", script, where, done) as run:
        wait_until(where.exists, SECONDS, "the program")
        folder = Path(json.loads(where.read_text())["path"]).parent
        assert folder.stat().st_mode & 0o777 == (0o711 if os.geteuid() == 0 else 0o700)
        if end == "killed":
            run.process.kill()
            run.process.wait(SECONDS)
        else:
            done.touch()
            run.next("exited")
            run.finish()
    wait_until(lambda: not folder.exists(), SECONDS, "the end of the folder")


# -- who listens ------------------------------------------------------------------------------------


@contextmanager
def impostor(folder: Path, answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Another user's socket, in the place of a session that is gone; and what it is told."""
    path = str(folder / "session")
    heard: list[bytes] = []
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    ready = threading.Event()

    def serve() -> None:
        # The kernel keeps the user of listen(2); that of this thread alone is changed, by setresuid of x86-64.
        assert ctypes.CDLL(None).syscall(117, -1, NOBODY, -1) == 0
        server.listen()
        ready.set()
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    heard.append(connection.recv(1000))
                    connection.sendall(answer)
                except OSError:
                    heard.append(b"")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert ready.wait(patient(60))
    try:
        yield path, heard
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(patient(60))


@as_root
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the number of setresuid is that of x86-64")
@pytest.mark.parametrize("kind", ["python", "other"])
def test_a_descendant_believes_no_other_user(tmp_path: Path, kind: str) -> None:
    evil = tmp_path / "evil"
    (evil / "debugpy").mkdir(parents=True)
    (evil / "debugpy" / "__init__.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w').close()\n")
    settings = {"address": "/nowhere", "session_token": "s", "target_token": "t", "pycache": None}
    answer = json.dumps({**settings, "debugpy": str(evil / "debugpy")}).encode() + b"\n"
    with impostor(tmp_path, answer) as (path, heard):
        if kind == "python":
            place = {"path": path, "token": "t" * 64, "user": 0, "session_pid": 1, "name_tracer": False}
            env = {**os.environ, "PYTHONPATH": str(BOOTSTRAP), "DUALDBG_FOLLOW": json.dumps(place)}
            command = [sys.executable, "-c", "print('it runs')"]
        else:
            library = tmp_path / "join.so"
            library.write_bytes(JOINER.compile())
            env = {**os.environ, "LD_PRELOAD": str(library), "DUALDBG_JOIN": f"1 0 0 {'t' * 64} {path}"}
            command = ["/bin/echo", "it runs"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=patient(60))
    assert (done.stdout, done.stderr, done.returncode) == ("it runs\n", "", 0)
    assert not any(heard)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    "value", ["", "junk", "1 0 0 t", "1 0 0 t ", f"1 0 0 t /{'x' * 200}", "1 0 0 t /nowhere"]
)
def test_junk_for_the_joiner(tmp_path: Path, value: str) -> None:
    library = tmp_path / "join.so"
    library.write_bytes(JOINER.compile())
    env = {**os.environ, "LD_PRELOAD": str(library), "DUALDBG_JOIN": value}
    done = subprocess.run(["/bin/echo", "x"], env=env, capture_output=True, text=True, timeout=patient(60))
    assert (done.stdout, done.stderr, done.returncode) == ("x\n", "", 0)


# -- descent ----------------------------------------------------------------------------------------


def test_descent_is_the_kernels_word() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        grandchild = int(shell.stdout.readline())
        try:
            assert descends_from(grandchild, {shell.pid})
            assert descends_from(grandchild, {os.getpid()})
            assert descends_from(shell.pid, {shell.pid})
            assert not descends_from(shell.pid, {grandchild})
            assert not descends_from(os.getpid(), {shell.pid})
            assert not descends_from(1, {os.getpid()})
        finally:
            os.kill(grandchild, 9)
    with pytest.raises(OSError):
        descends_from(shell.pid, {os.getpid()})


def test_an_end_between_does_not_hide_the_rest() -> None:
    """While it is looked at, processes between end all the time."""
    code = (
        "import os, sys, time\n"
        "for _ in range(300):\n"
        "    if os.fork():\n"
        "        time.sleep(0.005)\n"
        "        os._exit(0)\n"
        "    print(os.getpid(), flush=True)\n"
    )
    answers = 0
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended itself
                answers += descends_from(int(line), {process.pid, os.getpid()}) in (True, False)
    assert answers > 100
