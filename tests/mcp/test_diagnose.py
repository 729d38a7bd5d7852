"""``diagnose`` of jobs and of asyncio: all that the command line tells, with its second look."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.mcp.driver import Tools, with_server
from tests.support import SAMPLES, require

pytestmark = pytest.mark.processes


@contextmanager
def _running(*words: str | Path) -> Iterator[int]:
    """A program that has said that it is ready; its number."""
    command = [sys.executable, *map(str, words)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline().startswith("ready")
            yield process.pid
        finally:
            process.kill()


@pytest.mark.torch
@pytest.mark.slow
def test_ranks_that_wait_for_one_are_looked_at_twice() -> None:
    require(importlib.util.find_spec("torch"), "PyTorch")

    async def work(tools: Tools, pid: int) -> None:
        text = ""
        while "ranks 0-2 are in all_reduce number 2 of group 0 (float32 [2])" not in text:  # the others come
            found = (await tools("diagnose", tree=pid)).data["findings"]
            text = found[0]["text"] if found and found[0]["kind"] == "collective" else ""
        assert "has not called all_reduce, for which ranks 0-2 wait" in text and text.startswith("rank 3")
        assert "it has not moved in " in text, "the second look says so"

    with _running(SAMPLES / "hangs" / "gloo_collective.py", "--limit", "300") as pid:
        with_server(lambda tools: work(tools, pid))


def test_tasks_that_wait_for_each_other(tmp_path: Path) -> None:
    program = tmp_path / "tasks.py"
    program.write_text(
        "import asyncio\nasync def main():\n"
        "    async def one(): await tasks[1]\n"
        "    async def two(): await tasks[0]\n"
        "    tasks = [asyncio.ensure_future(one()), asyncio.ensure_future(two())]\n"
        "    asyncio.get_running_loop().call_later(0.1, print, 'ready')\n"
        "    await tasks[0]\nasyncio.run(main())\n"
    )

    async def work(tools: Tools, pid: int) -> None:
        found = (await tools("diagnose", pid=pid)).data["findings"]
        assert found[0]["kind"] == "task-deadlock"
        assert "one (tasks.py:3)" in found[0]["text"] and "two (tasks.py:4)" in found[0]["text"]

    with _running("-u", program) as pid:
        with_server(lambda tools: work(tools, pid))


def test_a_thread_that_the_debugger_holds_is_no_finding(tmp_path: Path) -> None:
    program = tmp_path / "stops.py"
    program.write_text("x = 1\ny = 2\n")

    async def work(tools: Tools) -> None:
        session = (await tools("run", program=str(program), breakpoints=["stops.py:2"])).data["session"]
        assert (await tools("diagnose", session=session)).data["findings"] == []

    with_server(work)


def test_the_tasks_of_an_event_loop_that_waits(tmp_path: Path) -> None:
    program = tmp_path / "queue.py"
    program.write_text(
        "import asyncio\nasync def consume():\n    print('ready', flush=True)\n    await asyncio.Queue().get()\n"
        "asyncio.run(consume())\n"
    )

    async def work(tools: Tools, pid: int) -> None:
        told = await tools("diagnose", pid=pid)
        (task,) = told.data["tasks"]
        assert task.endswith(": consume, waits for a future, in consume (queue.py:4)") and task in told.text

    with _running(program) as pid:
        with_server(lambda tools: work(tools, pid))


def test_of_a_program_that_is_over_no_process_is_read() -> None:
    async def work(tools: Tools) -> None:
        session = (await tools("run", code="pass", seconds=60)).data["session"]
        for tool in ("stacks", "diagnose"):
            said = await tools.refused(tool, session=session)
            assert f"the program of session {session} is over\nnext: " in said and "output(" in said

    with_server(work)
