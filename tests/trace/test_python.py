"""``dualdbg trace`` of Python functions and lines: each hit, in every Python, in one trace with native code."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import rows
from tests.support import other_interpreter
from tests.trace.test_counts import COUNTS_IN_NATIVE_CODE, refused, result, run
from tests.trace.test_records import events_in

pytestmark = pytest.mark.processes

_SCRIPT = """
import ctypes, functools, os, sys, threading, time
library = ctypes.CDLL(None)
def doubled(function):
    @functools.wraps(function)
    def inner(*words):
        return function(*words)
    return inner
def step(n):
    total = 0
    for i in range(n):
        total += i  # line 12
        library.getppid()
    return total
class Model:
    @doubled
    def forward(self, x):
        if x % 4 == 3:
            raise ValueError(x)
        return step(x)
def numbers(n):
    for i in range(n):
        yield i
def slow():
    began = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    time.sleep(0.02)
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - began
async def waits(n):
    return n
def drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
def worker():
    model = Model()
    for i in range(20):
        try:
            model.forward(i)
        except ValueError:
            pass
    list(numbers(5))
    drive(waits(3))
threads = [threading.Thread(target=worker) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
began = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
within = slow()
print(within, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - began)
print([name for name in sys.modules if "dualdbg" in name], "DUALDBG_TRACE" in os.environ, os.environ.get("PYTHONPATH"))
for i in range(3):
    i + 1
def short(n): return n
for i in range(5):
    short(i)
"""
_NAMES = ("step", "Model.forward", "numbers", "slow", "waits")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    made = tmp_path / "program.py"
    made.write_text(_SCRIPT)
    return made


def _printed(said: str) -> list[str]:
    rows_ = [json.loads(line) for line in said.splitlines()]
    return "".join(row["text"] for row in rows_ if row["event"] == "output").splitlines()


def _lines(row: dict[str, Any]) -> Counter[tuple[str, int]]:
    found: Counter[tuple[str, int]] = Counter()
    for one in row["callers"]:
        found[one["python"]["function"], one["python"]["line"]] += one["hits"]
    return found


@pytest.mark.parametrize("version", rows.versions())
def test_functions_and_lines_with_native_code(script: Path, version: str) -> None:
    """Decorated, of a class, generators, coroutines; exceptions have no time, and all others one."""
    options = [word for name in _NAMES for word in ("-b", f"py:{name}")]
    options += ["-b", f"{script}:12", "-b", f"{script}:52", "-b", f"{script}:53", "-b", "getppid"]
    python = other_interpreter(version)
    said = run("--time", "--json", "--python", python, "--env", "PYTHONPATH=/nowhere", *options, script)
    found = result(said)
    hits = 8 * sum(range(20)) - 8 * (3 + 7 + 11 + 15 + 19)
    native = [
        one for one in found["getppid"].get("callers", ()) if one["python"]
    ]  # a shell may start the interpreter
    assert found["program.py:12"]["hits"] == hits
    assert sum(one["hits"] for one in native) == (hits if COUNTS_IN_NATIVE_CODE else 0)
    assert found["program.py:52"]["hits"] == 3
    assert found["program.py:53"]["hits"] == 6  # its definition, and five calls
    assert {name: (found[name]["hits"], found[name]["timed"]) for name in _NAMES} == {
        "step": (120, 120),
        "Model.forward": (160, 120),
        "numbers": (8, 8),
        "slow": (1, 1),
        "waits": (8, 8),
    }
    qualified = tuple(map(int, version.split("."))) >= (3, 11)
    assert _lines(found["step"]) == {("Model.forward" if qualified else "forward", 20): 120}
    assert _lines(found["Model.forward"]) == {("doubled.<locals>.inner" if qualified else "inner", 7): 160}
    within, around = map(int, _printed(said)[0].split())
    assert within / 1e9 <= found["slow"]["time"] <= around / 1e9
    assert _printed(said)[1] == "[] False /nowhere"


@pytest.mark.skipif(not COUNTS_IN_NATIVE_CODE, reason="machine code of x86-64, by iced-x86")
def test_the_order_of_python_and_native_hits(tmp_path: Path) -> None:
    """In the events, each native call lies within the Python one that makes it."""
    script, events = tmp_path / "program.py", tmp_path / "events.json"
    script.write_text(
        "import ctypes\nlibrary = ctypes.CDLL(None)\n"
        "def call(): library.getppid()\nfor i in range(100): call()\n"
    )
    run("--time", "--perfetto", events, "-b", "py:call", "-b", "getppid", script)
    found = events_in(events)
    assert Counter((event["name"], event["ph"]) for event in found) == {
        ("call", "X"): 100,
        ("getppid", "X"): 100,
    }
    outer = sorted((event for event in found if event["name"] == "call"), key=lambda event: event["ts"])
    inner = sorted((event for event in found if event["name"] == "getppid"), key=lambda event: event["ts"])
    for around, within in zip(outer, inner, strict=True):  # two clocks, of which one is known in the other
        assert around["ts"] < within["ts"] < within["ts"] + within["dur"] < around["ts"] + around["dur"]
    assert len({event["tid"] for event in found}) == 1
    assert [event["args"]["python"] for event in outer] == [f"{script}:4 in <module>"] * 100
    assert [event["args"]["python"] for event in inner] == [f"{script}:3 in call"] * 100


def test_a_name_of_a_module_that_the_script_imports(tmp_path: Path) -> None:
    (tmp_path / "helping.py").write_text("def helped(n):\n    return n\n")
    script = tmp_path / "program.py"
    script.write_text("import helping, os\nfor i in range(7): helping.helped(i)\nos.path.join('a', 'b')\n")
    found = result(run("--json", "-b", "helping.helped", "-b", "py:posixpath.join", script))
    assert found["helping.helped"]["hits"] == 7
    assert found["posixpath.join"]["hits"] >= 1
    found = result(run("--json", "--count", "-b", "helping.helped", script))
    assert found["helping.helped"]["hits"] == 7 and "callers" not in found["helping.helped"]


def test_a_forked_child_is_not_among_them(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import os\ndef f(): pass\nf()\npid = os.fork()\nfor i in range(10): f()\n"
        "if pid == 0: os._exit(0)\nos.waitpid(pid, 0)\n"
    )
    assert result(run("--json", "-b", "py:f", script))["f"]["hits"] == 11


def test_an_interpreter_that_loads_nothing_is_named(tmp_path: Path) -> None:
    """Not as one in which nothing was called."""
    script, python = tmp_path / "program.py", tmp_path / "python"
    script.write_text("def f(): pass\nf()\n")
    python.write_text(f'#!/bin/sh\nexec {other_interpreter("3.11")} -I "$@"\n')
    python.chmod(0o755)
    row = result(run("--json", "--python", python, "-b", "py:f", script))["f"]
    assert row["hits"] is None and "has not loaded" in row["why"]


ENDING = {
    "signal": """\
import signal, time
class Ring(Exception): pass
armed = False
def ring(*arguments):
    global armed
    if armed:
        armed = False
        raise Ring
def f(): pass
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
end = time.time() + 0.2
while time.time() < end:
    try:
        armed = True
        for _ in range(1000): f()
        armed = False
    except Ring:
        pass
signal.setitimer(signal.ITIMER_REAL, 0)
""",
    "recursion": """\
def deep(): deep()
def f(): pass
try:
    deep()
except RecursionError:
    pass
for _ in range(10): f()
""",
}


@pytest.mark.parametrize("kind", ENDING)
@pytest.mark.parametrize("version", rows.versions())
def test_counting_that_an_exception_ends_is_told(version: str, kind: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(ENDING[kind])
    row = result(run("--json", "--python", other_interpreter(version), "-b", "py:f", script))["f"]
    if tuple(map(int, version.split("."))) < (3, 12):
        assert "counting ended in a thread" in row["why"]
    else:
        assert row["hits"] and row.get("why") is None


def test_two_names_of_a_function_are_one_row(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("def run(): pass\n")
    (tmp_path / "two.py").write_text("from one import run\n")
    script = tmp_path / "program.py"
    script.write_text("import one, two\none.run(); two.run()\n")
    found = result(run("--json", "-b", "one.run", "-b", "two.run", "-b", "py:one.run", script))
    assert found.pop("missing") == []
    assert {name: row["hits"] for name, row in found.items()} == {"one.run, two.run": 2}


@pytest.mark.parametrize("version", rows.versions())
def test_coroutines_that_are_cancelled_count_once(version: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import asyncio\n"
        "async def wait():\n"
        "    try:\n"
        "        await asyncio.sleep(10)\n"
        "    except asyncio.CancelledError:\n"
        "        return 1\n"
        "async def main():\n"
        "    tasks = [asyncio.ensure_future(wait()) for _ in range(5)]\n"
        "    await asyncio.sleep(0.05)\n"
        "    for one in tasks: one.cancel()\n"
        "    await asyncio.gather(*tasks)\n"
        "asyncio.run(main())\n"
    )
    row = result(run("--time", "--json", "--python", other_interpreter(version), "-b", "py:wait", script))[
        "wait"
    ]
    assert row["hits"] == row["timed"] == 5 and row["time"] > 5 * 0.04


def test_modules_of_the_user_are_the_users(tmp_path: Path) -> None:
    """None that we import for ourselves is there already, nor is one of ours imported from the user's folders."""
    for name in ("struct", "json", "mmap", "re"):
        (tmp_path / f"{name}.py").write_text(f"print('the own {name}')\n")
    script = tmp_path / "program.py"
    script.write_text("def f(): pass\nf()\nimport struct, json\n")
    said = run("--json", "--env", f"PYTHONPATH={tmp_path}", "-b", "py:f", script)
    assert result(said)["f"]["hits"] == 1
    assert said.count("the own struct") == said.count("the own json") == 1 and "the own mmap" not in said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-b", "py:nosuch", "-c", "0"], "nosuch"),
        (["-b", "nosuch.py:3", "-c", "0"], "there is no file nosuch.py"),
        (["-b", "py:f", "--native", "/bin/true"], "not in one that may have Python in it"),
        (["-b", "py:posixpath.join if a", "-c", "0"], "without 'if'"),
        (["-b", "py:f", str(os.getpid())], "Python is traced in programs of Python that dualdbg starts"),
    ],
)
def test_wrong_words_are_refused(words: list[str], why: str) -> None:
    assert why in refused(words)
