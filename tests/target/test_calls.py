"""Where the target calls: who proves nothing gets nothing, and a port does where there can be no socket."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from dualdbg.errors import TargetError
from dualdbg.session.attach.injection import prepare
from dualdbg.snapshot.capture import Wanted, capture
from dualdbg.target import calls
from dualdbg.target.calls import Folder, MeetingPoint
from dualdbg.target.launcher import Launch, Meeting
from tests.support import require

from .client import DEADLINE, run_to_its_end

pytestmark = pytest.mark.processes  # a shell that removes folders

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(params=["socket", "port"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With a port there is no folder for a socket."""
    if request.param == "port":
        monkeypatch.setattr(calls, "folders", lambda: [Path("/nowhere")])
    return str(request.param)


class Point:
    """A meeting point, and those that have arrived at it."""

    def __init__(self) -> None:
        self.arrived: asyncio.Queue[Streams] = asyncio.Queue()
        self.point = MeetingPoint(self._arrive)
        self.meeting: Meeting

    async def _arrive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.arrived.put_nowait((reader, writer))

    async def call(self, line: bytes = b"") -> Streams:
        address = self.meeting.address
        if isinstance(address, str):
            reader, writer = await asyncio.open_unix_connection(address)
        else:
            reader, writer = await asyncio.open_connection(*address)
        writer.write(line)
        return reader, writer

    @property
    def proof(self) -> bytes:
        return json.dumps({"token": self.meeting.target_token}).encode() + b"\n"


@asynccontextmanager
async def opened() -> AsyncIterator[Point]:
    one = Point()
    one.meeting = await one.point.open()
    try:
        yield one
    finally:
        one.point.close()


def run(scenario: Callable[[Point], Awaitable[None]]) -> None:
    async def main() -> None:
        async with opened() as one:
            await asyncio.wait_for(scenario(one), DEADLINE)

    asyncio.run(main())


def test_who_says_nothing_takes_no_place(way: str) -> None:
    async def scenario(one: Point) -> None:
        assert bool(one.point.why_a_port) == (way == "port")
        silent = [await one.call() for _ in range(10)]
        _, target = await one.call(one.proof)
        reader, writer = await one.arrived.get()
        writer.write(b"hello")
        for stranger, _ in silent:
            assert await stranger.read() == b"", "nothing is said, and it is hung up on"
        target.write(b"more")
        assert await reader.readexactly(4) == b"more"

    run(scenario)


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"{}\n",
        b'{"token": ""}\n',
        b'{"token": null}\n',
        b'{"token": ["x"]}\n',
        b'{"token": "\\ud800"}\n',
        b"\xff\n",
        b"[" * 60_000 + b"\n",
        b"x" * 200_000,
        b"Content-Length: 2\r\n\r\n{}",
    ],
    ids=lambda line: repr(line[:20]),
)
def test_who_proves_nothing_gets_nothing(way: str, line: bytes) -> None:
    async def scenario(one: Point) -> None:
        reader, writer = await one.call(line)
        if not line.endswith(b"\n") and len(line) < 1000:
            writer.write_eof()
        try:
            assert await reader.read() == b""
        except ConnectionResetError:
            pass  # closed with what we had said unread
        assert one.arrived.empty() and not one.point.failure.done()
        await one.call(one.proof)
        await one.arrived.get()

    run(scenario)


def test_the_second_who_proves_it_is_late(way: str) -> None:
    async def scenario(one: Point) -> None:
        late, _ = early = await one.call()
        await one.call(one.proof)
        await one.arrived.get()
        early[1].write(one.proof)
        with contextlib.suppress(ConnectionError):
            assert await late.read() == b""
        assert one.arrived.empty()
        with pytest.raises(OSError):
            await one.call()

    run(scenario)


def test_of_too_many_the_first_has_to_go(way: str) -> None:
    async def scenario(one: Point) -> None:
        first, _ = await one.call()
        others = [await one.call() for _ in range(calls._STRANGERS)]
        assert await first.read() == b""
        others[-1][1].write(one.proof)
        await one.arrived.get()

    run(scenario)


def test_the_target_may_say_why_it_does_not_come(way: str) -> None:
    async def scenario(one: Point) -> None:
        await one.call(json.dumps({"token": "guess", "failed": "lie"}).encode() + b"\n")
        await one.call(json.dumps({"token": one.meeting.target_token, "failed": "a\nb\n"}).encode() + b"\n")
        assert await one.point.failure == "a\nb"

    run(scenario)


def test_the_folder_is_ours_alone_and_goes(tmp_path: Path) -> None:
    async def scenario(one: Point) -> None:
        path = Path(str(one.meeting.address))
        assert path.parent.stat().st_mode & 0o777 == 0o700 and path.stat().st_mode & 0o777 == 0o600
        await one.call(one.proof)
        await one.arrived.get()
        assert not path.parent.exists(), "it has done its work"

    run(scenario)


def test_a_call_at_the_moment_of_closing_is_turned_away(way: str) -> None:
    async def run() -> None:
        troubles: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, about: troubles.append(about))
        async with opened() as point:
            reader, writer = await point.call()
            while not point.point._tasks:  # accepted, and not looked at yet
                await asyncio.sleep(0)
            point.point.close()
            assert await reader.read() == b""
            writer.close()
        gc.collect()
        assert troubles == []

    asyncio.run(run())


@as_root
def test_another_user_cannot_enter_the_folder_and_a_port_turns_it_away(way: str) -> None:
    python = require(shutil.which("python3", path=os.defpath), "a Python that other users may run")
    code = (
        "import json, socket, sys\n"
        "address, line = json.loads(sys.stdin.read())\n"
        "one = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)\n"
        "one.settimeout(30)\n"
        "try:\n"
        "    one.connect(address if isinstance(address, str) else tuple(address))\n"
        "    one.sendall(line.encode())\n"
        "    print(one.recv(100))\n"
        "except OSError as error:\n"
        "    print(type(error).__name__)\n"
    )

    async def scenario(one: Point) -> None:
        process = await asyncio.create_subprocess_exec(
            *(python, "-ISc", code), stdin=-1, stdout=-1, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/"
        )  # fmt: skip
        output, _ = await process.communicate(json.dumps([one.meeting.address, one.proof.decode()]).encode())
        allowed = (b"PermissionError\n",) if way == "socket" else (b"b''\n", b"ConnectionResetError\n")
        assert output in allowed
        assert one.arrived.empty()

    run(scenario)


@as_root
def test_a_folder_for_another_user() -> None:
    folder = Folder.make()
    try:
        inside = folder.here / "file"
        inside.touch()
        folder.give(inside, NOBODY)
        about = folder.here.stat()
        assert (about.st_uid, about.st_mode & 0o777) == (NOBODY, 0o700) and folder.here == folder.there
        assert inside.stat().st_uid == NOBODY
    finally:
        folder.remove()


@pytest.fixture
def quick_owner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The user who gets a folder puts links to this file of ours into it, as soon as it may."""
    victim = tmp_path / "victim"
    victim.write_text("ours")
    victim.chmod(0o644)
    chown = os.chown

    def give(path: Path, *rest: int, **named: bool) -> None:
        chown(path, *rest, **named)
        if Path(path).is_dir():
            for name in ("session", "attach.py"):
                (path / name).unlink(missing_ok=True)
                (path / name).symlink_to(victim)

    monkeypatch.setattr(os, "chown", give)
    return victim


def assert_untouched(victim: Path) -> None:
    about = victim.stat()
    assert (victim.read_text(), about.st_mode & 0o777, about.st_uid) == ("ours", 0o644, os.geteuid())


@as_root
def test_a_socket_is_whole_before_another_user_gets_its_folder(quick_owner: Path) -> None:
    async def main() -> None:
        point = MeetingPoint(AsyncMock())
        await point.open(user=NOBODY)
        point.close()

    asyncio.run(main())
    assert_untouched(quick_owner)


@as_root
def test_the_files_of_an_attach_are_whole_before_another_user_gets_their_folder(quick_owner: Path) -> None:
    python = require(shutil.which("python3", path=os.defpath), "a Python that other users may run")
    code = "import ctypes, time; print(flush=True); time.sleep(600)"  # libraries have room for a text
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/"}
    with subprocess.Popen([python, "-ISc", code], stdout=subprocess.PIPE, **as_nobody) as process:  # type: ignore[call-overload]
        try:
            process.stdout.readline()
            injection = prepare(capture(process.pid, wanted=Wanted(names=False)), {})
            injection.remove_files()
        finally:
            process.kill()
    assert_untouched(quick_owner)
    assert len(injection.before) < 160 + len(str(injection.folder.there)), (
        "some programs have little room for it"
    )


@as_root
def test_the_mounts_of_a_user_namespace_are_no_place_for_files_of_root(tmp_path: Path) -> None:
    """Any user can make one, with a /tmp that leads anywhere, and change it while we look."""
    unshare = require(shutil.which("unshare"), "unshare (util-linux)")
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/"}
    own = [unshare, "--user", "--map-root-user", "--mount"]
    require(
        not subprocess.run([*own, "true"], capture_output=True, **as_nobody).returncode, "user namespaces"
    )  # type: ignore[call-overload]
    mount = "for one in /tmp /var/tmp /dev/shm; do mount -t tmpfs none $one; done; echo ready; exec sleep 600"
    command = [*own, "sh", "-c", mount]
    with subprocess.Popen(command, stdout=subprocess.PIPE, **as_nobody) as process:  # type: ignore[call-overload]
        try:
            assert process.stdout.readline() == b"ready\n"
            with pytest.raises(PermissionError, match="user namespace"):
                Folder.make(process.pid)
        finally:
            process.kill()


@as_root
def test_a_folder_that_a_process_with_other_mounts_sees(tmp_path: Path) -> None:
    unshare = require(shutil.which("unshare"), "unshare (util-linux)")
    probe = subprocess.run([unshare, "--mount", "true"], capture_output=True)
    require(probe.returncode == 0, "mount namespaces", outside=True)
    command = [unshare, "--mount", "sh", "-c", "mount -t tmpfs none /tmp && echo ready && exec sleep 600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout and process.stdout.readline() == b"ready\n"
            folder = Folder.make(process.pid)
            (folder.here / "file").touch()
            inside = subprocess.run(
                ["nsenter", "-t", str(process.pid), "-m", "-r", "ls", str(folder.there)],
                capture_output=True,
                text=True,
            )
            assert "file" in inside.stdout.split(), inside
            assert not folder.there.exists(), "out here it has another name"
            folder.remove()
        finally:
            process.kill()


def test_a_long_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of a socket has 107 bytes at most."""
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))

    async def scenario(one: Point) -> None:
        assert one.point.why_a_port == ""
        await one.call(one.proof)
        await one.arrived.get()

    run(scenario)


def test_a_program_runs_the_same_either_way(way: str, tmp_path: Path) -> None:
    """It turns into another, too: pydevd sets an option of TCP on its connection then."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\nprint('one', flush=True)\nos.execv(sys.executable, [sys.executable, '-c', 'print(2)'])\n"
    )
    launch = Launch(sys.executable, str(script), stdin="pipe", stdout="pipe", stderr="pipe")
    result = asyncio.run(run_to_its_end(launch))
    assert (result.stdout, result.stderr, result.status) == ("one\n2\n", "", 0)


def test_no_folder_and_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "folders", list)
    monkeypatch.setattr(calls, "LOOPBACK", "192.0.2.1")  # an address that nobody has (RFC 5737)

    async def main() -> None:
        with pytest.raises(TargetError, match=r"no folder for a socket.*no port of loopback") as caught:
            await MeetingPoint(lambda reader, writer: asyncio.sleep(0)).open()
        assert "TMPDIR" in caught.value.hint

    asyncio.run(main())
