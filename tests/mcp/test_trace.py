"""The tool ``trace`` on real programs: what it counts, when it ends, and what goes on afterwards."""

from __future__ import annotations

import asyncio
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.probes import placement
from tests import support
from tests.mcp.driver import Tools, with_server
from tests.mcp.test_protocol import raw

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86-64"),
    pytest.mark.skipif(placement.iced is None, reason="needs iced-x86"),
]

CALLS = """\
import os, sys
def often():
    for _ in range(300): os.getppid()
often()
os.getppid()
print("done")
"""
RUNS_ON = """\
import os, sys, time
print("ready", flush=True)
while True:
    os.getppid()
    time.sleep(0.001)
"""


def test_who_calls_and_how_often(tmp_path: Path) -> None:
    program = tmp_path / "calls.py"
    program.write_text(CALLS)

    async def work(tools: Tools) -> None:
        answer = await tools("trace", program=str(program), specs=["getppid", "no_such_function"])
        (row,) = answer.data["functions"]
        assert (row["function"], row["library"], row["hits"], row["recorded"]) == (
            "getppid",
            "libc.so.6",
            301,
            301,
        )
        assert [(one["caller"].rpartition("/")[2], one["hits"]) for one in row["callers"]] == [
            ("calls.py:3 in often", 300),
            ("calls.py:5 in <module>", 1),
        ]
        assert answer.data["missing"] == ["no_such_function"]
        assert answer.data["exit_code"] == 0 and answer.data["output"] == "out| done\n"
        assert "calls.py:3 in often" in answer.text and "out| done" in answer.text
        assert "left_out" not in answer.data

        counted = await tools("trace", program=str(program), specs=["getppid", "getpgrp"], only_count=True)
        (row,) = counted.data["functions"]
        assert row["hits"] == 301 and row["callers"] == [] and "recorded" not in row
        assert counted.data["not_called"] == ["getpgrp"]

        refusal = await tools.refused("trace", specs=["getppid"])
        assert "program, module and code" in refusal and "trace(program=" in refusal
        assert "specs[0] cannot be set" in await tools.refused("trace", program=str(program), specs=["f("])

    with_server(work)


def test_how_long_calls_took_and_python_too(tmp_path: Path) -> None:
    program = tmp_path / "calls.py"
    program.write_text(CALLS)

    async def work(tools: Tools) -> None:
        specs = ["getppid", "calls.py:3", "py:calls.often"]
        answer = await tools("trace", program=str(program), specs=specs, times=True, callers=1)
        rows = {row["function"]: row for row in answer.data["functions"]}
        native, line = rows["getppid"], rows["calls.py:3"]
        assert native["times"]["timed"] == 301 and 0 < native["times"]["longest"] <= native["times"]["sum"]
        (caller,) = native["callers"]  # of two
        assert native["caller_count"] == 2 and "1 more places: a larger callers has more" in answer.text
        assert (caller["function"], caller["line"], caller["times"]["timed"]) == ("often", 3, 300)
        assert caller["file"].endswith("/calls.py") and "native" not in caller
        assert (line["hits"], line["untimed"]) == (301, ["it is a line of a function"])
        assert rows["calls.often"]["hits"] == rows["calls.often"]["times"]["timed"] == 1
        assert "mean" in answer.text
        plain = await tools("trace", program=str(program), specs=["getppid"])
        assert "times" not in plain.data["functions"][0]

    with_server(work)


def test_a_crash_of_a_traced_program_is_told(tmp_path: Path) -> None:
    program = tmp_path / "reads.py"
    program.write_text("import ctypes, os\nos.getppid()\nctypes.string_at(8)\n")

    async def work(tools: Tools) -> None:
        answer = await tools("trace", program=str(program), specs=["getppid"])
        assert answer.data["signal"] == 11 and answer.data["functions"][0]["hits"] == 1
        ended = answer.data["ended"]
        assert ended.startswith("the program was ended by SIGSEGV (Segmentation fault)")
        assert "at address 0x8 in string_at" in ended and "run instead of trace" in ended
        assert ended in answer.text
        exited = await tools("trace", code="raise SystemExit(3)", specs=["getppid"])
        assert exited.data["ended"] == "the program ended with status 3"

    with_server(work)


def test_a_program_is_ended_after_the_time_and_a_process_goes_on(tmp_path: Path) -> None:
    program = tmp_path / "runs_on.py"
    program.write_text(RUNS_ON)

    async def work(tools: Tools) -> None:
        for seconds in (1, 5, 25, 125):  # a busy machine takes longer to begin
            answer = await tools("trace", program=str(program), specs=["getppid"], seconds=seconds)
            assert "exit_code" not in answer.data
            assert answer.data["ended"] == f"after {seconds} s: its program was ended"
            if answer.data["functions"]:
                break
        assert answer.data["functions"][0]["hits"] > 0

        process = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            assert await asyncio.to_thread(process.stdout.readline) == "ready\n"
            for _ in range(5):
                answer = await tools("trace", pid=process.pid, specs=["getppid"], seconds=1)
                assert answer.data["ended"] == f"after 1 s: process {process.pid} goes on"
                (row,) = answer.data["functions"]
                if "hits" in row:
                    break
                assert row["why"]  # a thread stood where nothing can be placed
            assert row["hits"] > 0
            assert process.poll() is None
            assert "TracerPid:\t0" in Path(f"/proc/{process.pid}/status").read_text()
            assert "it takes no cwd" in await tools.refused("trace", pid=process.pid, cwd="/", specs=["a"])
        finally:
            process.kill()
            process.communicate()

    with_server(work)


def test_a_call_that_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    program, told = tmp_path / "runs_on.py", tmp_path / "pid"
    program.write_text(f"import os\nopen({str(told)!r}, 'w').write(f'{{os.getpid()}}.')\n{RUNS_ON}")
    with raw() as server:
        server.begin()
        arguments = {"program": str(program), "specs": ["getppid"], "seconds": 600}
        server.send("tools/call", 2, name="trace", arguments=arguments)
        support.wait_until(lambda: told.exists() and told.read_text().endswith("."), what="it runs")
        server.send("notifications/cancelled", requestId=2)
        pid = int(told.read_text().rstrip("."))
        support.wait_until(lambda: not support.is_running(pid), what="the program is ended")
        arguments = {"code": "import os; os.getppid()", "specs": ["getppid"]}
        server.send("tools/call", 3, name="trace", arguments=arguments)
        answer = server.answer(3)["result"]["structuredContent"]
        assert answer["functions"][0]["hits"] == 1
