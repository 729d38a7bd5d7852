"""``dualdbg trace``: what is taken down of each hit, in every Python, and what becomes of records without room."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import rows
from tests.support import other_interpreter
from tests.trace.test_counts import calls, pytestmark, result, run

__all__ = ["calls", "pytestmark"]

_SCRIPT = """
import ctypes, threading, time
time.sleep(0.5)
library = ctypes.CDLL({library!r})
def once(n):
    return library.twice(n)
def worker():
    for i in range(1000):
        library.twice(i)
threads = [threading.Thread(target=worker) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
for i in range(500): once(-i)
print("over")
"""
_SOURCE = (
    'int twice(int number) { __asm__ volatile(""); return number * 2 + (number >> 3 << 3) - number / 8 * 8; }'
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("twice")
    (folder / "twice.c").write_text(_SOURCE)
    made = folder / "libtwice.so"
    subprocess.run(["gcc", "-O2", "-g", "-shared", "-fPIC", "-o", made, folder / "twice.c"], check=True)
    return made


def _lines(row: dict[str, Any]) -> Counter[tuple[str, int]]:
    found: Counter[tuple[str, int]] = Counter()
    for caller in row["callers"]:
        python = caller["python"] or {"function": "", "line": 0}
        found[python["function"], python["line"]] += caller["hits"]
    return found


@pytest.mark.parametrize("version", rows.versions())
def test_each_hit_has_its_python_line(library: Path, tmp_path: Path, version: str) -> None:
    """Of the thread that called it, while that has given the GIL away; and the values of the argument."""
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT.format(library=str(library)))
    said = run("--json", "--python", other_interpreter(version), "-b", "twice", script)
    row = result(said)["twice"]
    assert row["hits"] == row["recorded"] == 8500
    assert _lines(row) == {("worker", 9): 8000, ("once", 6): 500}
    assert row["numbers"]["number"] == {"least": -499, "most": 999, "sum": 8 * 499500 - 499 * 250}


@pytest.mark.parametrize(
    "options", rows.some([["-O2"], ["-O3", "-fno-reorder-blocks-and-partition"], ["-O1"], ["-Os"]], 2)
)
def test_values_are_those_that_were_passed(tmp_path: Path, options: list[str]) -> None:
    """Of functions in several ranges of addresses, and of those that begin with what was inlined into them."""
    made, source = tmp_path / "arguments", Path(__file__).with_name("arguments.cpp")
    subprocess.run(["g++", *options, "-g", "-o", made, source], check=True)
    names = ("plain", "thrower", "with_text", "guarded", "unlikely", "begins_inlined")
    specs = [*names, "begins_inlined_and_throws", "Base::method", "generic<int>"]
    said = run("--json", *(word for one in specs for word in ("-b", one)), "--native", made, status=7)
    rows = json.loads(said.splitlines()[-1])["functions"]
    counted = [row for row in rows if row["hits"] is not None]
    assert len(rows) == len(specs) and len(counted) >= len(specs) - 2, rows
    passed = {
        "n": {"least": 0, "most": 99, "sum": 4950},
        "k": {"least": 1000, "most": 1198, "sum": 109900},
    }
    for row in counted:
        assert row["hits"] == 100, row
        assert row["numbers"] == passed, row


_LOADING = """\
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
int twice(int number);
static volatile int over;
static void *work(void *unused) {
    long count = 0;
    while (!over) {
        twice(count++);
        for (volatile int wait = 0; wait < 8000; wait++);  // the rings are never full
    }
    return (void *)count;
}
int main(void) {
    pthread_t threads[4];
    long sum = 0;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < LIBRARIES; i++) dlclose(dlopen("./other.so", RTLD_NOW));
    over = 1;
    for (int i = 0; i < 4; i++) { void *count; pthread_join(threads[i], &count); sum += (long)count; }
    FILE *file = fopen("count", "w");
    fprintf(file, "%ld", sum);
    return fclose(file);
}
"""


def test_a_stop_within_a_record_loses_none(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each library that is loaded stops all threads, some of them in the middle of a record."""
    monkeypatch.chdir(tmp_path)
    subprocess.run(["gcc", "-x", "c", "-shared", "-fPIC", "-o", "other.so", "/dev/null"], check=True)
    (tmp_path / "loading.c").write_text(_LOADING)
    # Each thread is in a record for one hundredth of its time: some are met.
    libraries = 400 if os.environ.get("DUALDBG_TEST_ALL") == "1" else 75
    built = [
        "gcc",
        "-O2",
        f"-DLIBRARIES={libraries}",
        "-pthread",
        "-o",
        "loading",
        "loading.c",
        library,
        f"-Wl,-rpath,{library.parent}",
    ]
    subprocess.run(built, check=True)
    row = result(run("--json", "-b", "twice", "--native", "./loading"))["twice"]
    assert row["hits"] == row["recorded"] == int((tmp_path / "count").read_text())


def test_arguments_are_those_of_debug_info(calls: Path) -> None:
    said = run(
        "--json",
        "-b",
        "work if number < 500",
        "-b",
        "on_even if number < 500",
        "--native",
        calls,
        1000,
        status=7,
    )
    found = result(said)
    work = found["work"]
    assert work["recorded"] == work["hits"] == 4000
    assert work["numbers"] == {"number": {"least": 0, "most": 499, "sum": 8 * 124750}}
    assert {one["native"] for one in work["callers"]} == {"run"}
    assert {one["native"] for one in found["on_even"]["callers"]} == {"run"}


def test_a_full_ring_drops_and_says_how_many(calls: Path) -> None:
    """Faster than anybody could read them: each hit is counted, and each is either taken down or said to be dropped."""
    rows_ = result(run("--json", "-b", "work", "--native", calls, 300000, status=7))
    work = rows_["work"]
    assert work["hits"] == 2400000
    assert 0 < work["recorded"] <= work["hits"]
    assert sum(one["hits"] for one in work["callers"]) == work["recorded"]
    said = run("-b", "work", "--native", calls, 300000, status=7)
    text = said.partition("2,400,000 hits of 1 function")[2]
    assert text and ("the rings were full" in text) == ("callers and values" in text)


def test_events_for_perfetto_and_folded_stacks(library: Path, tmp_path: Path) -> None:
    """Each hit is an event of its thread, whatever processor it was on; each way of a call a line with its count."""
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT.format(library=str(library)))
    events, stacks = tmp_path / "events.json", tmp_path / "stacks.txt"
    run("--perfetto", events, "--folded", stacks, "-b", "twice", script)
    whole = json.loads(events.read_text())
    _check_format(whole)
    found = events_in(events)
    assert len(found) == 8500
    assert {event["name"] for event in found} == {"twice"} and {event["ph"] for event in found} == {"i"}
    assert len({event["tid"] for event in found}) == 9
    found.sort(key=lambda event: event["ts"])
    assert 0 < found[0]["ts"] < found[-1]["ts"] < 1e9
    for tid in {event["tid"] for event in found[:8000]}:
        mine = [event["args"]["number"] for event in found if event["tid"] == tid]
        assert mine == list(range(1000))
    last = [event["args"] for event in found if event["args"]["number"] < 0]
    assert [one["number"] for one in last] == list(range(-1, -500, -1))
    assert last[0]["python"] == f"{script}:6 in once"
    lines = dict(line.rsplit(" ", 1) for line in stacks.read_text().splitlines())
    assert sum(map(int, lines.values())) == 8500
    assert {name.partition(";")[0]: int(count) for name, count in lines.items()} == {
        f"{script}:9 in worker": 8000,
        f"{script}:6 in once": 500,
    }


def events_in(path: Path) -> list[dict[str, Any]]:
    """The events of a file, without the names of threads."""
    return [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] != "M"]


def _check_format(whole: dict[str, Any]) -> None:
    """What the Trace Event Format asks of a file with instant events: scope, times, numbers, plain arguments."""
    assert set(whole) == {"displayTimeUnit", "traceEvents"} and whole["displayTimeUnit"] in ("ms", "ns")
    for event in whole["traceEvents"]:
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and set(event["args"]) == {"name"}
            continue
        assert set(event) == {"name", "ph", "s", "ts", "pid", "tid", "args"}
        assert event["ph"] == "i" and event["s"] in ("g", "p", "t")
        assert isinstance(event["name"], str) and event["name"]
        assert isinstance(event["ts"], (int, float)) and event["ts"] >= 0
        assert all(isinstance(event[key], int) and event[key] > 0 for key in ("pid", "tid"))
        assert all(isinstance(value, (str, int)) for value in event["args"].values())


def test_a_program_that_becomes_another_one(library: Path, tmp_path: Path) -> None:
    """exec: hits of both are counted, and each has its own lines, in the events too."""
    second, first, events = tmp_path / "second.py", tmp_path / "first.py", tmp_path / "events.json"
    text = f"import ctypes, os, sys, time\nlibrary = ctypes.CDLL({str(library)!r})\ntime.sleep(0.5)\n"
    text += "assert 'debugpy' not in sys.modules\n"
    second.write_text(text + "\n\ndef late():\n    for i in range(200): library.twice(i)\nlate()\n")
    call = f"os.execv(sys.executable, [sys.executable, {str(second)!r}])\n"
    early = "def early():\n    for i in range(100): library.twice(-i)\nearly()\ntime.sleep(0.5)\n"
    first.write_text(text + early + call)
    row = result(run("--json", "--perfetto", events, "-b", "twice", first))["twice"]
    assert row["hits"] == row["recorded"] == 300
    assert _lines(row) == {("early", 6): 100, ("late", 8): 200}
    found = events_in(events)
    told = Counter(event["args"]["python"] for event in found if event["name"] == "twice")
    assert told == {f"{first}:6 in early": 100, f"{second}:8 in late": 200}


@pytest.mark.parametrize("version", rows.versions())
def test_code_objects_that_are_replaced_at_once(library: Path, tmp_path: Path, version: str) -> None:
    """Each template is freed before the next is made, often in its place: a line is the right one, or not known."""
    script, events = tmp_path / "script.py", tmp_path / "events.json"
    script.write_text(
        f"import ctypes, time\nlibrary = ctypes.CDLL({str(library)!r})\ntime.sleep(0.5)\n"
        "def once(number):\n"
        "    text = '\\n' * (number % 50) + 'library.twice(%d)\\n' % number\n"
        "    exec(compile(text, '<template %d>' % number, 'exec'))\n"
        "for number in range(5000): once(number)\n"
    )
    python = other_interpreter(version)
    row = result(run("--json", "--python", python, "--perfetto", events, "-b", "twice", script))["twice"]
    assert row["hits"] == row["recorded"] == 5000
    found = events_in(events)
    assert len(found) == 5000
    for event in found:
        number = event["args"]["number"]
        line = f"<template {number}>:{number % 50 + 1} in <module>"
        assert event["args"].get("python", line) == line


def test_callers_in_libraries_that_are_gone(library: Path, tmp_path: Path) -> None:
    """Two libraries, one after the other at one address: each call is by the right one, or by nobody that is known."""
    program = tmp_path / "program"
    for name in ("first", "second"):
        text = f"int twice(int);\nint by_{name}(int n) {{ return twice(n) + 1; }}\n"
        (tmp_path / f"{name}.c").write_text(text)
        made = tmp_path / f"{name}.so"
        subprocess.run(["gcc", "-O0", "-shared", "-fPIC", "-o", made, tmp_path / f"{name}.c"], check=True)
    (tmp_path / "program.c").write_text(
        "#include <dlfcn.h>\n#include <stdio.h>\nint twice(int);\n"
        "static void *from(const char *path, const char *name, int count) {\n"
        "    void *library = dlopen(path, RTLD_NOW), *found = dlsym(library, name);\n"
        "    for (int at = 0; at < count; at++) ((int (*)(int))found)(at);\n"
        "    dlclose(library);\n    return found;\n}\n"
        f'int main(void) {{\n    void *one = from("{tmp_path}/first.so", "by_first", 100);\n'
        f'    return one == from("{tmp_path}/second.so", "by_second", 200) ? 7 : 1 + 0 * twice(1);\n}}\n'
    )
    folder = library.parent
    subprocess.run(
        [
            "gcc",
            "-o",
            program,
            tmp_path / "program.c",
            f"-L{folder}",
            "-ltwice",
            f"-Wl,-rpath,{folder}",
            "-ldl",
        ],
        check=True,
    )
    row = result(run("--json", "-b", "twice", "--native", program, status=7))["twice"]
    assert {one["native"]: one["hits"] for one in row["callers"]} == {"by_first": 100, "by_second": 200}


def test_a_caller_without_a_name_is_told_by_its_library(library: Path, tmp_path: Path) -> None:
    """As CUDA's runtime is, which has no names but those of its API."""
    program, folder = tmp_path / "program", library.parent
    (tmp_path / "program.c").write_text(
        "int twice(int);\nstatic __attribute__((noinline)) int nameless(int n) { return twice(n) + 1; }\n"
        "int main(void) { int sum = 0; for (int at = 0; at < 100; at++) sum += nameless(at); return sum != 10000; }\n"
    )
    words = ["gcc", "-O1", "-s", "-o", program, tmp_path / "program.c", f"-L{folder}", "-ltwice"]
    subprocess.run([*words, f"-Wl,-rpath,{folder}"], check=True)
    row = result(run("--json", "-b", "twice", "--native", program))["twice"]
    assert {one["native"]: one["hits"] for one in row["callers"]} == {"program": 100}


def test_code_that_a_forked_child_has_made(library: Path, tmp_path: Path) -> None:
    """Parent and child make other code at the same addresses: the child's lines are right, or not known."""
    script, events = tmp_path / "script.py", tmp_path / "events.json"
    script.write_text(
        f"import ctypes, os, time\nlibrary = ctypes.CDLL({str(library)!r})\ntime.sleep(0.5)\n"
        "def once(number):\n"
        "    text = '\\n' * (abs(number) % 50) + 'library.twice(%d)\\n' % number\n"
        "    exec(compile(text, '<template %d>' % number, 'exec'))\n"
        "sign = -1 if os.fork() == 0 else 1\n"
        "for number in range(1, 3000): once(sign * number)\n"
        "if sign < 0: os._exit(0)\nos.wait()\n"
    )
    row = result(run("--json", "--perfetto", events, "-b", "twice", script))["twice"]
    assert row["hits"] == row["recorded"] == 2 * 2999
    for event in events_in(events):
        number = event["args"]["number"]
        line = f"<template {number}>:{abs(number) % 50 + 1} in <module>"
        assert event["args"].get("python", line) == line
