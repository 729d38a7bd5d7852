"""``dualdbg stacks`` on the hanging samples: what it names as the cause."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests import warm
from tests.samples.test_hangs import hung
from tests.snapshot.programs_running import running
from tests.support import read_ready, require, wait_until


def dualdbg(*words: str) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "dualdbg", *words],
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=patient(60),
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def seen(*words: str) -> tuple[dict[int, Any], list[dict[str, Any]]]:
    """The processes by number, and the findings."""
    done = dualdbg("stacks", *words, "--diagnose", "--json")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    processes = {event["pid"]: event for event in events if event["event"] == "process"}
    return processes, [event for event in events if event["event"] == "finding"]


@pytest.mark.smoke
def test_gil_deadlock(native_samples: Path) -> None:
    with hung("gil_deadlock.py") as (process, _):
        wait_until(lambda: len(list(Path(f"/proc/{process.pid}/task").iterdir())) == 2)
        processes, findings = seen("--tree", str(process.pid))
        assert findings[0]["kind"] == "deadlock"
        threads = {thread["tid"]: thread for thread in processes[process.pid]["threads"]}
        (worker,) = threads.keys() - {process.pid}
        assert {each["tid"] for each in findings[0]["threads"]} == {process.pid, worker}
        assert threads[process.pid]["holds_gil"]
        assert threads[worker]["waits_for_gil"]
        assert "process_item" in findings[0]["text"]
        assert "call_with_gil" in findings[0]["text"]
        assert processes[process.pid]["stopped_ms"] > 0


@pytest.mark.parametrize(("kind", "place"), [("native", "sample::read_byte"), ("python", "refresh_cache")])
@pytest.mark.parametrize("alone", [False, True])
def test_fork_with_lock(kind: str, place: str, alone: bool, native_samples: Path) -> None:
    """The child alone says it too: its parent is looked at, because it explains the child."""
    with hung("fork_with_lock.py", kind) as (process, ready):
        (child,) = ready["child"]
        processes, findings = seen(str(child)) if alone else seen("--tree", str(process.pid))
        assert set(processes) == ({child} if alone else {process.pid, child})
        assert findings[0]["kind"] == "fork-with-lock"
        assert f"process {child} was forked from {process.pid}" in findings[0]["text"]
        assert place in findings[0]["text"]


@pytest.mark.torch
@pytest.mark.slow
def test_gloo_collective() -> None:
    require(importlib.util.find_spec("torch"), "PyTorch")
    with hung("gloo_collective.py") as (process, ready):
        missing = ready["ranks"][-1]

        def all_there() -> str | None:
            _, findings = seen(str(process.pid), "--tree")  # either order
            text = findings[0]["text"] if findings and findings[0]["kind"] == "collective" else ""
            return text if "ranks 0-2 are in all_reduce number 2 of group 0 (float32 [2])" in text else None

        text = wait_until(all_there, 60, "three ranks are in the collective")
        assert "train_step" in text
        assert text.startswith(
            f"rank 3 (process {missing}) has not called all_reduce, for which ranks 0-2 wait"
        )
        assert "load_next_shard (gloo_collective.py:18)" in text


@pytest.mark.torch
@pytest.mark.slow
def test_dataloader_hang() -> None:
    require(importlib.util.find_spec("torch"), "PyTorch")
    with hung("dataloader_hang.py") as (process, ready):
        (worker,) = ready["worker"]
        _, findings = seen("--tree", str(process.pid))
        assert findings[0]["kind"] == "workers"
        assert f"its worker process {worker} is in Photos.wait_for_download" in findings[0]["text"]
        assert "read of descriptor" in findings[0]["text"]


def test_text(native_samples: Path) -> None:
    with running("many_stacks.py", PYTHONPATH=str(native_samples)) as pid:
        done = dualdbg("stacks", str(pid))
        assert done.returncode == 0, done.stderr
        assert f"Process {pid}: " in done.stdout
        assert "stopped for " in done.stdout
        capi = done.stdout[done.stdout.index("in_capi") :].split("\n\n")[0]
        assert capi.index("capi_call_back") < capi.index("py   in_capi")
        handler = done.stdout[done.stdout.index(" in_signal_handler: ") :].split("\n\n")[0]
        order = ["py   stand", "<signal handler called>", "py   in_signal_handler  "]
        assert sorted(order, key=handler.index) == order
        assert "the same frame 200 more times" in done.stdout


def test_what_is_typed_next_is_named_where_threads_wait(native_samples: Path) -> None:
    with hung("gil_deadlock.py") as (process, _):
        done = dualdbg("stacks", str(process.pid))
        assert done.stdout.endswith(
            f"\nWhat they wait for, in words: dualdbg stacks {process.pid} --diagnose\n"
        )
        assert "--diagnose" not in dualdbg("stacks", str(process.pid), "--diagnose").stdout


def test_watch() -> None:
    with running("busy.py") as pid:
        done = dualdbg("stacks", str(pid), "--watch", "6", "--interval", "0.03")
        assert "of 2 threads moved in 6 samples" in done.stdout
        assert "work (busy.py:" in done.stdout


def test_patterns_and_refusals() -> None:
    with running("busy.py") as pid:
        done = dualdbg("stacks", "snapshot/programs/busy.py")
        assert f"Process {pid}: " in done.stdout
    done = dualdbg("stacks", str(pid))
    assert done.returncode == 3
    assert f"there is no process {pid}" in done.stderr
    done = dualdbg("stacks", "no such program 4711")
    assert done.returncode == 3
    assert "no process" in done.stderr
    assert dualdbg("stacks").returncode == 2
    assert dualdbg("stacks", "--watch", "0", "1").returncode == 2


def test_a_process_without_python() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            done = dualdbg("stacks", str(process.pid))
            assert "there is no Python interpreter in this process" in done.stdout
            assert "nanosleep" in done.stdout
        finally:
            process.kill()


def test_an_interpreter_that_was_deleted_since(tmp_path: Path) -> None:
    """As after an upgrade. The kernel still has the file, for whoever may read /proc/PID/map_files."""
    copy = tmp_path / "python{}.{}".format(*sys.version_info)
    shutil.copy(Path(sys.executable).resolve(), copy)
    code = "import time\ndef waits(n):\n    print('ready pid=0', flush=True)\n    time.sleep(300)\nwaits(17)"
    with subprocess.Popen(
        [copy, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHOME": sys.base_prefix},
    ) as process:
        try:
            read_ready(process)
            copy.unlink()
            done = dualdbg("stacks", "--locals", str(process.pid))
            assert done.returncode == 0, done.stderr
            if os.geteuid() == 0:
                assert "py   waits" in done.stdout
                assert "n = 17" in done.stdout
            else:
                assert "dualdbg-error" not in done.stderr
        finally:
            process.kill()


WAITS = """\
import os, select, threading, time
reader, _ = os.pipe()
poll = select.poll()
poll.register(reader)
for wait in (lambda: threading.Event().wait(1000), lambda: poll.poll(10**6)):
    threading.Thread(target=wait, daemon=True).start()
print("ready", flush=True)
time.sleep(1000)
"""


def test_a_second_look_sees_what_the_first_one_saw() -> None:
    """A wait with a time limit that the first one has interrupted goes on under another number."""
    with subprocess.Popen([sys.executable, "-c", WAITS], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            wait_until(lambda: len(list(Path(f"/proc/{process.pid}/task").iterdir())) == 3)

            def calls(*words: str) -> list[str]:
                processes, _ = seen(str(process.pid), *words)
                return [thread["system_call"]["name"] for thread in processes[process.pid]["threads"]]

            # From 3.15 on select.poll() waits in ppoll, and on AArch64.
            first = wait_until(
                lambda: (found := calls()) and not {"poll", "ppoll"}.isdisjoint(found) and found
            )
            assert calls() == calls("--no-stop") == first
            assert "restart_syscall" not in first
        finally:
            process.kill()


def test_a_thread_that_is_busy_in_c() -> None:
    with running("spin.py") as pid:
        _, findings = seen(str(pid))
        (finding,) = findings
        assert finding["kind"] == "busy"
        assert re.search(r"is busy: it waited for nothing in the last \d+(\.\d)? s", finding["text"])
        assert "in spin (spin.py:8)" in finding["text"]


MUTEX = """\
import ctypes, threading, time
c = ctypes.CDLL(None)
mutex = (ctypes.c_char * 64)()
def lock(): c.pthread_mutex_lock(mutex)
"""


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("print('ready', flush=True); lock(); lock()", "deadlock", "which it holds itself"),
        (
            "t = threading.Thread(target=lock); t.start(); t.join(); print('ready', flush=True); lock()",
            "lock",
            "the process has no such thread: it has ended without releasing it",
        ),
    ],
)
def test_a_mutex_that_nobody_will_release(code: str, kind: str, words: str) -> None:
    with subprocess.Popen([sys.executable, "-c", MUTEX + code], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            (finding,) = wait_until(lambda: seen(str(process.pid))[1], what="it waits")
            assert finding["kind"] == kind and words in finding["text"]
            assert "waits for the mutex at 0x" in finding["text"]
        finally:
            process.kill()


PING_PONG = """\
import os, threading
to, fro = os.pipe(), os.pipe()
def answer():
    while True: os.read(to[0], 1); os.write(fro[1], b"y")
threading.Thread(target=answer, daemon=True).start()
print("ready", flush=True)
while True: os.write(to[1], b"x"); os.read(fro[0], 1)
"""


def test_program_that_works_has_no_findings_after_the_second_look() -> None:
    with subprocess.Popen([sys.executable, "-c", PING_PONG], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            for target in ([], ["--tree"]) * 2:
                assert seen("--interval", "0.2", *target, str(process.pid))[1] == []
        finally:
            process.kill()
