"""A gdb that misbehaves: the client answers all the same, stays small, and closes in time.

The programs stand in for gdb's executable: no real gdb prints garbage when it is asked to.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from dualdbg.backends import gdb_process
from dualdbg.backends.events import (
    EngineEnded,
    EngineEvent,
    NativeConsole,
    NativeRefused,
    NativeStopped,
    StopCause,
)
from dualdbg.backends.gdb import GdbEngine, GdbOptions
from dualdbg.backends.wirelog import WireLog
from dualdbg.errors import CommandError, EngineError, EngineTimeout, ProtocolError, TargetGone
from dualdbg.shared.requests.breakpoints import CountHits
from dualdbg.system.patience import patient
from dualdbg.system.resources import resource_directory
from tests import rows
from tests.support import is_running, wait_until

DEADLINE = patient(120.0)  # seconds
HEAD = f"#!{sys.executable}\nimport os, sys, time\nout = sys.stdout.buffer\n"
GARBAGE = {
    "without an end": 'while True:\n    out.write(b"x" * 65536)\n',
    "long lines of escapes": "while True:\n    out.write(b'~\"' + b\"\\\\001\" * 3000000 + b'\"\\n')\n",
    # Not the three characters with which a text begins: one in 10 million lines would be a text of gdb.
    "random bytes": "while True:\n    out.write(os.urandom(65536).translate(None, b'~@&'))\n",
    "a list that is not closed": 'out.write(b"*stopped,a=[{\\n=library-loaded,id\\n"); out.flush()\ntime.sleep(600)\n',
    "lines without an end": 'while True:\n    out.write(b"no MI at all\\n" * 5000)\n',
    "records without an end": "while True:\n    out.write(b'~\"text\\\\n\"\\n' * 5000)\n",
}


def run(
    folder: Path, program: str, work: Callable[[GdbEngine, list[EngineEvent]], Awaitable[None]], **more: bool
) -> None:
    """Let ``work`` use an engine whose gdb is this program, and close it."""
    path = folder / "gdb"
    path.write_text(HEAD + program)
    path.chmod(0o755)

    async def main() -> None:
        events: list[EngineEvent] = []
        engine = GdbEngine(GdbOptions(str(path), folder, WireLog(None, "gdb", 0.0)), events.append)
        await engine._process.start()
        try:
            await asyncio.wait_for(work(engine, events), DEADLINE)
        finally:
            await asyncio.wait_for(engine.close(grace=0.5), DEADLINE)

    asyncio.run(main())


@pytest.mark.parametrize("kind", rows.some(GARBAGE, 2))
def test_garbage_leaves_the_loop_alive_and_the_client_small(tmp_path: Path, kind: str) -> None:
    async def work(engine: GdbEngine, events: list[EngineEvent]) -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        end = time.monotonic() + 1
        turns = 0
        while time.monotonic() < end:
            await asyncio.sleep(0.01)
            turns += 1
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert turns > 1, turns
        assert grown < 200_000, f"{grown} KiB"
        assert len([event for event in events if isinstance(event, NativeConsole)]) <= 20

    run(tmp_path, GARBAGE[kind], work)


def test_a_gdb_that_has_just_ended_is_left_to_who_waits_for_it(tmp_path: Path) -> None:
    async def main() -> None:
        engine = GdbEngine(GdbOptions("gdb", tmp_path, WireLog(None, "gdb", 0.0)), print)
        # asyncio's process sends signals by this one, and a thread may wait for asyncio's.
        process: Any = subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"])
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        engine._process._process = process
        engine._process.wake()
        assert process.returncode is None
        assert process.wait() == 7

    asyncio.run(main())


def test_an_answer_that_is_too_long_fails_its_request_at_once(tmp_path: Path) -> None:
    answers = (
        "for line in sys.stdin:\n"
        "    out.write(line.split('-')[0].encode() + b'^done,a=' + b'x' * (2 << 20) + b'\\n')\n"
        "    out.flush()\n"
    )

    async def work(engine: GdbEngine, events: list[EngineEvent]) -> None:
        with pytest.raises(ProtocolError, match="passed over"):
            await engine._process.command("-stack-list-frames", deadline=DEADLINE)
        assert not [event for event in events if isinstance(event, NativeConsole)]

    run(tmp_path, answers, work)


def test_an_answer_inside_a_command_of_the_console_is_text_of_it(tmp_path: Path) -> None:
    """gdb 18 answers a command of MI that `interpreter-exec` runs by a record without a number."""
    answers = (
        "for line in sys.stdin:\n"
        "    number = line.split('-')[0].encode()\n"
        "    out.write(b'^error,msg=\"no such\"\\n' + number + b'^done\\n')\n"
        "    out.flush()\n"
    )

    async def work(engine: GdbEngine, events: list[EngineEvent]) -> None:
        text = await engine._process.console('interpreter-exec mi "-none"', deadline=DEADLINE)
        assert text == '^error,msg="no such"\n'
        assert not [event for event in events if isinstance(event, NativeRefused)]

    run(tmp_path, answers, work)


def test_a_command_whose_text_has_no_end_is_given_up_and_nothing_is_kept(tmp_path: Path) -> None:
    async def work(engine: GdbEngine, events: list[EngineEvent]) -> None:
        with pytest.raises(EngineTimeout):
            await engine._process.console("print forever", deadline=1)

    run(tmp_path, GARBAGE["records without an end"], work)


def test_a_stop_that_cannot_be_read_is_a_stop(tmp_path: Path) -> None:
    async def work(engine: GdbEngine, events: list[EngineEvent]) -> None:
        while not any(isinstance(event, NativeStopped) for event in events):
            await asyncio.sleep(0.01)
        stop = next(event for event in events if isinstance(event, NativeStopped))
        assert stop.cause is StopCause.OTHER and not engine.running

    program = (
        "out.write(b'*stopped,reason=\"breakpoint-hit\",thread-id={}\\n'); out.flush()\ntime.sleep(600)\n"
    )
    run(tmp_path, program, work)


@pytest.mark.smoke
def test_an_answer_that_cannot_be_read_fails_its_request_at_once(tmp_path: Path) -> None:
    async def work(engine: GdbEngine, events: list[EngineEvent]) -> None:
        with pytest.raises(ProtocolError):
            await engine.delete_breakpoint(1)
        with pytest.raises(ProtocolError, match=r"CountHits with 'x'"):
            await engine.ask(CountHits(1))
        with pytest.raises(CommandError, match="no such thing"):
            await engine.delete_breakpoint(1)

    program = (
        "sys.stdin.readline(); out.write(b'1^done,bkpt=[{\\n'); out.flush()\n"
        "sys.stdin.readline(); out.write(b'~\"x\"\\n2^done\\n'); out.flush()\n"
        "sys.stdin.readline(); out.write(b'3^error,msg=\"no such thing\"\\n'); out.flush()\n"
        "time.sleep(600)\n"
    )
    run(tmp_path, program, work)


def holding_the_pipes(leaves_the_group: bool) -> str:
    """A gdb with a child that holds its pipes and lives on; it prints the child's number."""
    return (
        "child = os.fork()\n"
        f"if child == 0:\n    {leaves_the_group} and os.setsid()\n    time.sleep(600)\n    os._exit(0)\n"
        "out.write(b'@\"%d\"\\n' % child); out.flush()\n"
        "time.sleep(600)\n"
    )


async def child_of(events: list[EngineEvent]) -> int:
    """The number that such a gdb prints."""
    while not events:
        await asyncio.sleep(0.01)
    assert isinstance(events[0], NativeConsole)
    return int(events[0].text)


def test_a_child_of_gdbs_that_holds_the_pipes_does_not_hold_up_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gdb_process, "_KILL_DEADLINE", 1.0)
    children = []

    async def work(engine: GdbEngine, events: list[EngineEvent]) -> None:
        children.append(await child_of(events))

    try:
        run(tmp_path, holding_the_pipes(leaves_the_group=True), work)
        os.kill(children[0], 0)  # it lives, and so do its ends of the pipes
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("leaves_the_group", [False, True])
def test_the_end_of_gdb_is_seen_while_others_hold_its_pipes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaves_the_group: bool
) -> None:
    monkeypatch.setattr(gdb_process, "_KILL_DEADLINE", 1.0)
    children = []

    async def work(engine: GdbEngine, events: list[EngineEvent]) -> None:
        children.append(await child_of(events))
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGKILL)
        while not any(isinstance(event, EngineEnded) and "signal 9" in event.detail for event in events):
            await asyncio.sleep(0.01)

    try:
        run(tmp_path, holding_the_pipes(leaves_the_group), work)
        if not leaves_the_group:
            wait_until(lambda: not is_running(children[0]), 20, "the end of what gdb has started")
    finally:
        if leaves_the_group:
            os.kill(children[0], signal.SIGKILL)


def test_a_gdb_that_ends_is_told_and_refuses(tmp_path: Path) -> None:
    async def work(engine: GdbEngine, events: list[EngineEvent]) -> None:
        while not events:
            await asyncio.sleep(0.01)
        assert isinstance(events[0], EngineEnded) and "status 3" in events[0].detail
        with pytest.raises(EngineError, match="gdb is gone"):
            await engine.resume()
        assert not await engine.close()  # so what it held is to be looked at

    run(tmp_path, "sys.exit(3)\n", work)


def test_temporary_files_of_gdb_go_with_it_however_it_ends(tmp_path: Path) -> None:
    folders = []

    async def work(engine: GdbEngine, events: list[EngineEvent]) -> None:
        while not list(tmp_path.glob("told")):
            await asyncio.sleep(0.01)
        folders.append(Path((tmp_path / "told").read_text()))
        assert folders[0].is_dir()
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGKILL)

    told = tmp_path / "half"
    program = (
        "import tempfile\n"
        f"open({str(told)!r}, 'w').write(tempfile.mkdtemp(prefix='dualdbg-types-'))\n"
        f"os.rename({str(told)!r}, {str(tmp_path / 'told')!r})\n"
        "time.sleep(600)\n"
    )
    run(tmp_path, program, work)
    assert not folders[0].exists()
    assert not folders[0].parent.exists()


def test_a_compiler_that_a_stuck_gdb_waits_for_ends_with_it(tmp_path: Path) -> None:
    compilers = []

    async def work(engine: GdbEngine, events: list[EngineEvent]) -> None:
        while not (tmp_path / "told").exists() or not (tmp_path / "told").read_text().endswith("\n"):
            await asyncio.sleep(0.01)
        compilers.append(int((tmp_path / "told").read_text()))

    program = (
        "import signal, subprocess\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '600'], stdin=-3, stdout=-3, stderr=-3)\n"
        f"open({str(tmp_path / 'told')!r}, 'w').write('%d\\n' % child.pid)\n"
        "child.wait()\n"
    )
    run(tmp_path, program, work)
    wait_until(lambda: not is_running(compilers[0]), what="the compiler has ended")


# It takes each command, and says nothing of its target: as the real one, whose target is killed while it attaches.
SILENT = """\
import re
for line in sys.stdin:
    out.write(re.match(r"[0-9]*", line)[0].encode() + b"^done\\n")
    out.flush()
"""


def test_a_process_that_is_killed_while_gdb_attaches_is_not_waited_for(tmp_path: Path) -> None:
    async def work(engine: GdbEngine, events: list[EngineEvent]) -> None:
        process = await asyncio.create_subprocess_exec("sleep", "1000")
        attaching = asyncio.create_task(engine.attach(process.pid, None))
        await asyncio.sleep(0.2)
        assert not attaching.done()
        process.kill()
        with pytest.raises(TargetGone):
            await asyncio.wait_for(attaching, gdb_process.DEADLINE / 3)
        await process.wait()

    run(tmp_path, SILENT, work)


# It lets its target run only once it is to end, when the target is gone.
REFUSES = """\
import re
for line in sys.stdin:
    token = re.match(r"[0-9]*", line)[0].encode()
    if b"-exec-continue" in line.encode():
        moved = token
        out.write(token + b'^running\\n*running,thread-id="all"\\n')
    elif "-gdb-exit" in line or "refuse" in line:
        out.write(moved + b'^error,msg="No such process."\\n' + token + b"^done\\n")
    else:
        out.write(token + b"^done\\n")
    out.flush()
"""


@pytest.mark.parametrize("ending", [False, True])
def test_what_gdb_refuses_is_told_unless_it_is_to_end(tmp_path: Path, ending: bool) -> None:
    heard: list[EngineEvent] = []

    async def work(engine: GdbEngine, events: list[EngineEvent]) -> None:
        await engine.resume()
        if not ending:
            await engine.user_command("refuse")
        await engine.close(grace=1.0)
        heard.extend(events)

    run(tmp_path, REFUSES, work)
    assert [event for event in heard if isinstance(event, NativeRefused)] == (
        [] if ending else [NativeRefused("No such process.")]
    )


@pytest.mark.parametrize("turns", range(8))
def test_a_start_that_is_cancelled_twice_leaves_nothing(turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whoever does not want it any more, and by the end of the event loop: at each turn of the loop."""
    gc.collect()  # what earlier tests have left
    before = set(psutil.Process().children())
    left: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", left.append)

    async def scenario() -> None:
        engine = GdbEngine(
            GdbOptions("gdb", resource_directory("gdb_scripts"), WireLog(None, "gdb", 0.0)),
            lambda event: None,
        )
        starting = asyncio.create_task(engine._process.start())
        for _ in range(turns):
            await asyncio.sleep(0)
        for _ in range(2):
            starting.cancel()
            await asyncio.sleep(0)
        with contextlib.suppress(asyncio.CancelledError):
            await starting
        await engine.close(grace=0.1)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(scenario())
        gc.collect()  # what was left says so from its destructor
    assert not left
    assert set(psutil.Process().children()) <= before
