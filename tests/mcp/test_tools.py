"""The tools on real programs: what they answer, how they are bounded, and that nothing is told twice."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.compiled.test_records import package
from tests.mcp.driver import Tools, with_server
from tests.support import SAMPLES, wait_until

pytestmark = pytest.mark.processes

PROGRAMS = Path(__file__).parent / "programs"
BOTH = str(PROGRAMS / "both.py")


@pytest.mark.smoke
def test_a_session_from_run_to_end(native_samples: Path) -> None:
    async def work(tools: Tools) -> None:
        begun = await tools("run", program=BOTH, env=_path(native_samples), breakpoints=["py:inner"])
        session = begun.data["session"]
        assert begun.data["state"] == "python-stopped"
        assert (
            begun.data["stop"]["frame"]["function"] == "inner"
            and begun.data["stop"]["code"] == "def inner(item):"
        )
        assert [row["spec"] for row in begun.data["breakpoints"]] == ["py:inner"]

        stepped = await tools("step", session=session, kind="next", count=4)
        assert stepped.data["stop"]["reason"] == "step" and "breakpoints" not in stepped.data
        # A stop is told in one answer alone.
        waited = await tools("stack", session=session)
        assert "stop" not in waited.data and waited.data["frames"][0]["function"] == "inner"

        shown = await tools("variables", session=session)
        rows = {row["name"]: row for row in shown.data["variables"]}
        assert rows["numbers"]["child_count"] == 500 and "children" not in rows["numbers"]
        assert rows["long_text"]["length"] > 5000 > len(rows["long_text"]["value"])
        deeper = await tools("variables", session=session, path=["point"], depth=2)
        assert {row["name"] for row in deeper.data["variables"]} >= {"x", "y"}
        part = await tools("variables", session=session, path=["numbers"], limit=3)
        assert len(part.data["variables"]) == 3 and "start=3" in part.data["left_out"]
        assert "long_text" in await tools.refused("variables", session=session, path=["nothing"])

        read = await tools("evaluate", session=session, expression="point.x")
        assert (
            read.data["language"] == "python"
            and read.data["value"]["value"] == "0"
            and not read.data["ran_code"]
        )
        for code in ("point.sum", "len(numbers)", "numbers[0] + 1"):
            assert "run_code=true" in await tools.refused("evaluate", session=session, expression=code)
        ran = await tools("evaluate", session=session, expression="len(numbers) + 1", run_code=True)
        assert ran.data["value"]["value"] == "501" and ran.data["ran_code"]

        source = await tools("source", session=session, limit=5)
        assert len(source.data["lines"]) == 5 and source.data["file"] == BOTH

        over = await tools("break", session=session, remove=[1])
        assert over.data["breakpoints"] == []
        ended = await tools("continue_until", session=session)
        assert (ended.data["state"], ended.data["exit_code"]) == ("exited", 0)
        assert "run starts it again" in await tools.refused("continue_until", session=session)
        output = await tools("output", session=session)
        texts = {row["stream"]: row["text"] for row in output.data["output"]}
        assert texts == {"stdout": "begins\nends 3\n", "stderr": "to the other stream\n"}
        assert "out| ends 3\n" in output.text and "err| to the other stream\n" in output.text
        assert (await tools("output", session=session)).data["output"] == []

        await tools("end", session=session)
        assert (
            "was ended" not in (text := await tools.refused("stack", session=session)) and "ended it" in text
        )

    with_server(work)


def test_both_languages_at_a_native_stop(native_samples: Path) -> None:
    async def work(tools: Tools) -> None:
        begun = await tools("run", program=BOTH, env=_path(native_samples), breakpoints=["capi_call_back"])
        session = begun.data["session"]
        assert begun.data["state"] == "native-stopped"
        stack = await tools("stack", session=session, limit=3)
        kinds = [row.get("language") for row in stack.data["frames"]]
        assert kinds[0] == "native" and "python" in kinds

        count = await tools("evaluate", session=session, expression="1 + 2")
        assert (count.data["language"], count.data["value"]["value"]) == ("native", "3")
        for code in ("capi_add(self, args)", "args = 0", "args++"):
            assert "run_code=true" in await tools.refused("evaluate", session=session, expression=code)
        # In the nearest Python frame, read from memory while gdb holds the program.
        python = await tools("evaluate", session=session, expression="result", language="python")
        assert python.data["language"] == "python" and "list" in python.data["value"]["type"]

        inside = await tools("break", session=session, add=["py:weighed temporary", "nowhere_at_all"])
        assert [row["state"] for row in inside.data["breakpoints"]][1] == "pending"
        called = await tools("continue_until", session=session)
        assert called.data["stop"]["frame"]["function"] == "weighed"
        merged = await tools("stack", session=session)
        names = [row.get("function") for row in merged.data["frames"]]
        assert names.index("weighed") < names.index("capi_call_back") < names.index("main")
        back = await tools("step", session=session, kind="finish")
        assert back.data["stop"]["language"] == "native"
        everything = await tools("stack", session=session, all_frames=True, limit=100)
        assert everything.data["frame_count"] > merged.data["frame_count"]

    with_server(work)


# What no process can be given.
NO_PROCESS: list[dict[str, Any]] = [
    {"code": "1\0"},
    {"code": "1", "seconds": True},
    {"code": "1", "args": ["\0"]},
    {"code": "1", "env": {"A": "\0"}},
    {"code": "1", "env": {"A=B": "1"}},
    {"program": "a" * 3999},
    {"code": "1", "cwd": "a" * 3999},
]


def test_several_sessions_at_once_and_mistakes_that_say_what_to_call() -> None:
    async def work(tools: Tools) -> None:
        sleeper = 'import time\nprint("sleeps", flush=True)\ntime.sleep(600)'
        first = await tools("run", code=sleeper, seconds=0)
        second = await tools("run", code="x = 1\n", stop_on_entry=True)
        ids = first.data["session"], second.data["session"]
        assert ids[0] != ids[1]
        assert "diagnose" in first.data["next"] and "continue_until" in first.data["next"]
        assert second.data["stop"]["reason"] == "entry"
        refusal = await tools.refused("stack", session="s99")
        assert all(id in refusal for id in ids)
        assert "at_time='pause'" in await tools.refused("stack", session=ids[0])
        assert "session, thread" in await tools.refused("stack", session=ids[1], nonsense=1)
        assert "limit" in await tools.refused("stack", session=ids[1], limit=100_000)
        assert "one of program" in await tools.refused("run")
        assert "no script" in await tools.refused("run", program="nothing/there.py")
        assert "there are" in await tools.refused("nonsense")
        assert "for example x.py:12" in await tools.refused("break", session=ids[1], add=["x.py:abc if"])
        assert "9" in await tools.refused("break", session=ids[1], remove=[9])
        assert "frame 77" in await tools.refused("variables", session=ids[1], frame=77)
        refusal = await tools.refused("attach", pid=second.data["pid"])
        assert f"is debugged in session {ids[1]} already" in refusal and f"end(session={ids[1]!r})" in refusal
        told = await tools.refused("attach", pid=os.getpid())
        assert "is this server, or started it" in told and "stacks(pid=" in told
        for arguments in NO_PROCESS:
            refusal = await tools.refused("run", **arguments)
            assert "did not foresee" not in refusal and "next: " in refusal, arguments

        async def wrote() -> bool:
            return bool((await tools("output", session=ids[0], since=0)).data["output"])

        while not await wrote():
            await tools("continue_until", session=ids[0], seconds=0.2)
        paused = await tools("continue_until", session=ids[0], seconds=0, at_time="pause")
        assert paused.data["stop"]["reason"] == "pause"
        assert "stop" not in (await tools("continue_until", session=ids[0], seconds=0)).data

    with_server(work)


def test_a_running_session_is_diagnosed_without_stopping_it(tmp_path: Path) -> None:
    program = tmp_path / "waits.py"
    program.write_text(
        "import threading, time\nlock = threading.Lock()\n"
        "def holder():\n    with lock:\n        time.sleep(600)\n"
        "threading.Thread(target=holder, name='holder', daemon=True).start()\n"
        "while not lock.locked():\n    time.sleep(0.001)\n"
        "def wants():\n    with lock:\n        pass\n"
        "wants()\n"
    )

    async def work(tools: Tools) -> None:
        session = (await tools("run", program=str(program), seconds=0)).data["session"]
        kinds: list[str] = []
        while "lock" not in kinds:
            found = await tools("diagnose", session=session)
            kinds = [row["kind"] for row in found.data["findings"]]
        assert "holder" in found.text
        running = await tools("stacks", session=session)
        assert {"wants", "holder"} <= {
            row.get("function") for g in running.data["groups"] for row in g["frames"]
        }
        assert (await tools("continue_until", session=session, seconds=0)).data["state"] == "running"
        await tools("continue_until", session=session, seconds=0, at_time="pause")
        stopped = await tools("stacks", session=session)
        assert {"wants", "holder"} <= {
            row.get("function") for g in stopped.data["groups"] for row in g["frames"]
        }

    with_server(work)


def test_a_thread_that_runs_is_looked_at_twice() -> None:
    """Only a second look tells that it is busy, and has not just begun."""

    async def work(tools: Tools) -> None:
        session = (await tools("run", code="while True:\n    pass\n", seconds=0)).data["session"]
        kinds: list[str] = []
        while "busy" not in kinds:  # it has begun
            found = await tools("diagnose", session=session)
            kinds = [row["kind"] for row in found.data["findings"]]
        assert " is busy: it " in found.text and re.search(r" in the last \d+(\.\d)? s", found.text)

    with_server(work)


def test_processes_trees_jobs_and_cores_without_a_session(tmp_path: Path) -> None:
    command = [sys.executable, str(SAMPLES / "hunts" / "ranks.py"), "--limit", "300"]

    async def work(tools: Tools, pid: int) -> None:
        tree = await tools("stacks", tree=pid, locals=True)
        assert len(tree.data["processes"]) == 5
        assert [len(group["threads"]) for group in tree.data["groups"]][-1] == 3
        few = await tools("stacks", tree=pid, limit=1, depth=1)
        assert (
            len(few.data["groups"]) == 1
            and "start=1" in few.data["left_out"]
            and "depth" in few.data["left_out"]
        )
        job = await tools("stacks", match="hunts/ranks.py --rank")
        assert len(job.data["processes"]) == 4
        one = await tools("stacks", pid=pid)
        assert [row["pid"] for row in one.data["processes"]] == [pid]
        said = await tools("diagnose", tree=pid)
        assert any("load_shard" in row["text"] for row in said.data["findings"])
        assert "true does not fit" in await tools.refused("stacks", tree=True), "it is no process 1"
        assert "one of pid" in await tools.refused("stacks")
        assert "one of pid" in await tools.refused("stacks", pid=pid, tree=pid)
        assert "no process" in await tools.refused("stacks", tree=2**22 - 3)

    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as job:
        try:
            assert job.stdout is not None and job.stdout.readline().startswith("ready")
            with_server(lambda tools: work(tools, job.pid))
        finally:
            job.kill()


def test_what_happened_since_the_last_answer_is_told_before_it_goes_on(tmp_path: Path) -> None:
    """A crash, and an end: neither is passed over."""
    ready = tmp_path / "ready"
    code = "import os, pathlib, time\npathlib.Path(f'{os.getpid()}.begun').touch()\n"
    code += f"while not os.path.exists({str(ready)!r}): time.sleep(0.01)\n"

    async def work(tools: Tools) -> None:
        crashed = await tools("run", code=f"{code}os.kill(os.getpid(), 11)", cwd=str(tmp_path), seconds=0)
        ended = await tools("run", code=f"{code}raise SystemExit(3)", cwd=str(tmp_path), seconds=0)
        wait_until(lambda: len(list(tmp_path.glob("*.begun"))) == 2, what="both programs have begun")
        ready.touch()
        first, second = crashed.data["session"], ended.data["session"]
        for session in (first, second):
            while re.search("running|starting", (await tools.ask("stack", session=session)).text):
                pass
        answer = await tools("step", session=first)
        assert answer.data["stop"] and "SIGSEGV" in answer.text
        assert (await tools("stack", session=first)).data["frames"]
        answer = await tools("continue_until", session=second)
        assert answer.data["exit_code"] == 3

    with_server(work)


NO_BREAKPOINTS = (("x.py:abc", "a line's number"), ("preset:nothing", "no preset"), ("add@nowhere", "layer"))


def test_a_breakpoint_that_is_none_begins_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    code = f"open({str(mark)!r}, 'w').close()"

    async def work(tools: Tools) -> None:
        for spec, words in NO_BREAKPOINTS:
            refusal = await tools.refused("run", code=code, breakpoints=["print_it", spec])
            assert "no session was begun: breakpoints[1] cannot be set" in refusal and words in refusal
            assert "breakpoints.md" in refusal and not mark.exists()
            with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
                refusal = await tools.refused("attach", pid=process.pid, breakpoints=[spec])
                assert "no session was begun: breakpoints[0]" in refusal
                assert "TracerPid:\t0" in Path(f"/proc/{process.pid}/status").read_text()
                process.kill()
        assert "no session is open" in await tools.refused("stack", session="s1")

    with_server(work)


def test_torch_compile_is_told_to_keep_debug_info() -> None:
    code = "import os; print(*(os.environ.get(name) for name in ('INDUCTOR_PROVENANCE', 'TORCHINDUCTOR_DEBUG_SYMBOL')))"

    async def work(tools: Tools) -> None:
        for debug, env, said in ((True, {"INDUCTOR_PROVENANCE": "0"}, "0 1\n"), (False, {}, "None None\n")):
            run = await tools("run", code=code, compiled_debug=debug, env=env)
            output = await tools("output", session=run.data["session"])
            assert output.data["output"][0]["text"] == said

    with_server(work)


def test_attach_and_the_process_goes_on(tmp_path: Path) -> None:
    program = tmp_path / "counts.py"
    out = tmp_path / "count"
    program.write_text(
        "import sys, time\ncount = 0\ndef tick():\n    global count\n    count += 1\n"
        "    open(sys.argv[1], 'w').write(str(count))\nwhile True:\n    tick()\n    time.sleep(0.01)\n"
    )

    async def work(tools: Tools, pid: int) -> None:
        begun = await tools("attach", pid=pid, breakpoints=["py:tick"])
        session = begun.data["session"]
        assert begun.data["stop"]["reason"] == "pause"
        hit = await tools("continue_until", session=session)
        assert hit.data["stop"]["frame"]["function"] == "tick"
        told = await tools("end", session=session)
        assert f"process {pid} goes on" in told.text
        assert "no process" in await tools.refused("attach", pid=2**22 - 3)

    with subprocess.Popen([sys.executable, str(program), str(out)], stdin=subprocess.DEVNULL) as process:
        try:
            wait_until(out.exists)
            with_server(lambda tools: work(tools, process.pid))
            before = out.read_text()
            wait_until(lambda: out.read_text() not in ("", before), what="the process goes on")
        finally:
            process.kill()


def test_answers_stay_small_whatever_the_program_does(tmp_path: Path) -> None:
    program = tmp_path / "huge.py"
    program.write_text(
        "import sys, threading\nclass Row:\n    def __init__(self, n):\n"
        "        self.text = 'x' * 3000\n        self.n = n\n"
        "def deep(n):\n    names = {f'name{i}' * 50: Row(i) for i in range(120)}\n"
        "    if n:\n        return deep(n - 1)\n    print('y' * 3_000_000)\n    return len(names)\n"
        "sys.setrecursionlimit(4000)\nheld = threading.Event()\n"
        "def waits(n, long_text):\n    held.wait() if n == 0 else waits(n - 1, long_text + long_text[:90])\n"
        "for n in range(0, 60, 3):\n    threading.Thread(target=waits, args=(n, 'z' * 90), daemon=True).start()\n"
        "deep(120)\n"
    )

    async def work(tools: Tools) -> None:
        begun = await tools("run", program=str(program), breakpoints=[f"{program}:10"])
        session = begun.data["session"]
        calls = [
            ("stack", {"limit": 100}),
            ("stack", {"limit": 100, "all_frames": True}),
            ("stacks", {"limit": 100, "depth": 100}),
            ("variables", {"limit": 100, "depth": 4, "length": 10_000}),
            ("evaluate", {"expression": "names", "depth": 4, "length": 10_000, "limit": 100}),
            ("source", {"limit": 100}),
        ]
        for tool, arguments in calls:
            answer = await tools(tool, session=session, **arguments)
            assert answer.size < 100_000, tool
        pid = begun.data["pid"]
        for target in ({"pid": pid}, {"session": session}):
            seen, start = 0, 0
            while True:
                part = await tools("stacks", **target, start=start, limit=100, depth=100, locals=True)
                assert part.size < 100_000 and part.data["processes"][0]["python"].startswith("3.")
                seen += sum(group["thread_count"] for group in part.data["groups"])
                start += len(part.data["groups"])
                more = re.search(r"start=(\d+)", part.data.get("left_out", ""))
                if more is None or "groups" not in part.data["left_out"]:
                    break
                assert int(more[1]) == start
            assert seen == part.data["processes"][0]["thread_count"] > 20
        assert "more frames: stack(" in (await tools("stack", session=session)).data["left_out"]
        await tools("continue_until", session=session, seconds=60)
        output = await tools("output", session=session, limit=20_000)
        assert output.size < 60_000 and "characters before" in output.data["left_out"]

    with_server(work)


def test_what_is_left_out_of_a_long_value_is_reached(tmp_path: Path) -> None:
    program = tmp_path / "long.py"
    program.write_text("big = list(range(1000))\nnested = [[at] for at in range(1000)]\nend = 1\n")

    async def work(tools: Tools) -> None:
        begun = await tools("run", program=str(program), breakpoints=[f"{program}:3"])
        session = begun.data["session"]
        first = await tools("variables", session=session, path=["big"])
        assert "path=['big'], start=20" in first.data["left_out"]
        later = await tools("variables", session=session, path=["big"], start=90, limit=5)
        assert len(later.data["variables"]) == 5 and "= 90" in later.text
        assert "980 more variables" in first.data["left_out"]
        for start in (95, 100, 500, 995):
            some = await tools("variables", session=session, path=["big"], start=start, limit=5)
            assert [row["value"] for row in some.data["variables"]] == [
                str(at) for at in range(start, start + 5)
            ]
        last = await tools("variables", session=session, path=["big"], start=1100)
        assert last.data["variables"] == [] and "left_out" not in last.data
        every = await tools("variables", session=session, path=["nested"], start=50, limit=1)
        inner = await tools("variables", session=session, path=["nested", every.data["variables"][0]["name"]])
        assert "int" in inner.text
        value = await tools("evaluate", session=session, expression="big", depth=2, limit=5)
        assert "more children" in value.data["left_out"]

    with_server(work)


@pytest.mark.torch
def test_the_way_of_an_operator() -> None:
    async def work(tools: Tools) -> None:
        answer = await tools("operator", name="add.Tensor", limit=4)
        assert len(answer.data["stations"]) == 4 and "start=4" in answer.data["left_out"]
        assert answer.data["stations"][0]["step"] and "aten::add" in answer.text
        assert json.dumps(answer.data).count("THPVariable_add") >= 1
        assert await tools.refused("operator", name="no_such_operator_at_all")

    with_server(work)


def test_the_kernels_of_a_compiled_function(tmp_path: Path) -> None:
    """In a package, which is the smallest thing that has a record."""
    path = package(tmp_path / "model.pt2")

    async def work(tools: Tools) -> None:
        answer = await tools("operator", compiled="model.py:20", cache=str(path))
        (kernel,) = answer.data["kernels"]
        assert kernel["kernel"] == "aoti_torch_cpu_mm_out" and "source" not in kernel
        assert kernel["computes"] == ["/home/model.py:20 step  return a @ b"]
        assert "aoti_torch_cpu_mm_out  called in line 5" in answer.text
        back = await tools("operator", compiled="aoti_torch_cpu_mm_out", cache=str(path))
        assert back.data["kernels"] == answer.data["kernels"]
        few = await tools("operator", compiled="step", cache=str(path), limit=1)
        assert "start=1" in few.data["left_out"]
        assert "computes nothing" in await tools.refused("operator", compiled="nothing", cache=str(path))
        assert "one of them" in await tools.refused("operator")
        assert "goes with compiled" in await tools.refused("operator", name="add", cache=str(path))

    with_server(work)


def _path(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(folder)}
