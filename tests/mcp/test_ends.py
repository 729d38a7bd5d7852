"""However a server ends, nothing of it is left, and a process that was attached to goes on."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dualdbg.system.patience import patient
from tests import rows, warm
from tests.cli.driver import environment
from tests.mcp.driver import COMMAND, Tools, with_server
from tests.mcp.test_protocol import Raw, raw
from tests.support import is_running, wait_until

pytestmark = pytest.mark.processes

SLEEPS = "import time\nwhile True:\n    time.sleep(0.01)\n"


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of ours that counts into a file."""
    program = tmp_path / "victim.py"
    program.write_text(
        "import sys, time\nprint('ready', flush=True)\ncount = 0\nwhile True:\n    count += 1\n"
        "    with open(sys.argv[1], 'w') as file:\n        file.write(str(count))\n    time.sleep(0.01)\n"
    )
    command = [sys.executable, str(program), str(tmp_path / "count")]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.kill()


def goes_on(tmp_path: Path) -> None:
    count = tmp_path / "count"
    before = count.read_text()
    wait_until(lambda: count.read_text() not in ("", before), what="the process goes on")


def with_two_sessions(server: Raw, pid: int) -> int:
    """Starts a program and attaches to a process; the process id of the program."""
    server.begin()
    server.send("tools/call", 2, name="run", arguments={"code": SLEEPS, "seconds": 0})
    ours = server.answer(2)["result"]["structuredContent"]["pid"]
    server.send("tools/call", 3, name="attach", arguments={"pid": pid})
    assert server.answer(3)["result"]["structuredContent"]["state"] == "native-stopped"
    return int(ours)


@pytest.mark.parametrize("number", rows.some([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], 2))
def test_a_killed_server_leaves_nothing(
    number: signal.Signals, victim: subprocess.Popen[str], tmp_path: Path
) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with warm.Popen(COMMAND, env=environment(), **pipes) as process:
        try:
            server = Raw(process)
            ours = with_two_sessions(server, victim.pid)
            helpers = psutil.Process(process.pid).children(recursive=True)
            assert len(helpers) > 2
            process.send_signal(number)
            assert process.wait(patient(60)) in (-number, 128 + number)
            wait_until(lambda: not is_running(ours), what="the program of a session ends with the server")
            wait_until(lambda: not any(is_running(one.pid) for one in helpers), what="no helper is left")
            goes_on(tmp_path)
        finally:
            process.kill()


def test_a_client_that_goes_away_is_the_end(victim: subprocess.Popen[str], tmp_path: Path) -> None:
    with raw() as server:
        ours = with_two_sessions(server, victim.pid)
    wait_until(lambda: not is_running(ours), what="the program of a session ends with the client")
    goes_on(tmp_path)


def test_a_session_that_nobody_asks_for_ends(victim: subprocess.Popen[str], tmp_path: Path) -> None:
    async def work(tools: Tools) -> None:
        ours = (await tools("run", code=SLEEPS, seconds=0)).data
        attached = (await tools("attach", pid=victim.pid)).data
        while is_running(ours["pid"]):
            await asyncio.sleep(0.05)
        assert "nobody asked for it" in await tools.refused("stack", session=ours["session"])
        text = ""
        while "no more" not in text:
            await asyncio.sleep(2.5)  # not to ask is what this is about
            text = await tools.refused("output", session=attached["session"])
        assert f"process {victim.pid} goes on" in text
        goes_on(tmp_path)

    with_server(work, "--idle", "2")


def test_a_call_that_is_given_up_is_the_end_of_nothing_else() -> None:
    """Not of the server, nor of other sessions, and gdb has its settings again."""
    with raw() as server:
        server.begin()
        code = "import os, time\nos.getsid(0)\ntime.sleep(600)\n"
        for id in (2, 3):
            arguments = {"code": code, "breakpoints": ["getsid"], "seconds": 60}
            server.send("tools/call", id, name="run", arguments=arguments)
            assert server.answer(id)["result"]["structuredContent"]["state"] == "native-stopped"
        for id in range(10, 20):
            look = {"session": "s2", "expression": "environ", "language": "native"}
            server.send("tools/call", id, name="evaluate", arguments=look)
            server.send("notifications/cancelled", requestId=id)
        server.send("tools/call", 20, name="end", arguments={"session": "s1"})
        server.send("notifications/cancelled", requestId=20)
        call = {"session": "s2", "expression": "(int)getpid()", "language": "native", "run_code": True}
        server.send("tools/call", 21, name="evaluate", arguments=call)
        answer = server.answer(21)["result"]
        assert answer["structuredContent"]["value"]["value"].isdigit(), answer
