"""What a thread waits for, and who is to end that: the innermost frame decides, and where it is not known, it is not
told. Rules on made-up threads; then programs in which each wait is real.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dualdbg.console.style import Style
from dualdbg.model import NativeFrame, PythonFrame, Role
from dualdbg.snapshot.capture import Wanted
from dualdbg.snapshot.facts import Lock, ProcessReport, SystemCall, ThreadReport
from dualdbg.snapshot.report.diagnose import diagnose
from dualdbg.snapshot.report.library_threads import is_at_exit, notification_of
from dualdbg.snapshot.report.wording import activity
from dualdbg.snapshot.take import parents_of_forks, take
from dualdbg.stack_listing import NOTHING_WRONG, StackListing
from dualdbg.symbols.source_lines import SourceLines
from tests import rows
from tests.snapshot.programs_running import PROGRAMS, running
from tests.snapshot.test_idle_and_stuck import children_of
from tests.snapshot.test_pure import COMMON, process, python, thread
from tests.support import other_interpreter, require, wait_until

FUTEX = SystemCall("futex", (0x20, 0, 0, 0, 0, 0))
TIMED = SystemCall("futex", (0x20, 0, 0, 0x7F00, 0, 0))


def library(*names: str) -> list[PythonFrame]:
    """Frames of the standard library, by ``file:function``."""
    parts = [name.split(":") for name in names]
    return [python(function, 1, f"/usr/lib/python3.11/{file}.py") for file, function in parts]


WAIT, GET = library("threading:Condition.wait", "queue:Queue.get")
ENTER, PUT = library("threading:Condition.__enter__", "queue:Queue.put")
EVENT, JOIN = library("threading:Event.wait", "threading:Thread.join")
USER = python("on_signal", 9)


@pytest.mark.parametrize(
    ("frames", "what"),
    [
        ([WAIT, GET, *COMMON], "an item in a Queue"),
        ([WAIT, PUT, USER], "room in a Queue"),
        ([WAIT, EVENT, GET, USER], "an item in a Queue"),
        ([ENTER, PUT, USER, PUT, *COMMON], None),  # it waits for the lock
        ([USER, PUT, *COMMON], None),  # a _put of the user's
        ([USER, WAIT, GET, *COMMON], None),  # a handler above the wait
        ([USER, WAIT, EVENT, *COMMON], None),
        ([USER, JOIN, *COMMON], None),
        ([WAIT, USER, PUT, *COMMON], "a Condition to be notified"),
        (library("threading:Thread._wait_for_tstate_lock", "threading:Thread.join"), "another thread to end"),
        (
            library(
                *(f"threading:{name}" for name in ("Condition.wait", "Condition.wait_for", "Barrier.wait"))
            ),
            "the other threads at a Barrier",
        ),
        # Up to 3.10 frames have no classes.
        (library("threading:wait"), "a Condition to be notified"),
        (library("threading:wait", "threading:wait"), "an Event to be set"),
        (
            library(*(f"threading:{name}" for name in ("wait", "wait_for", "_wait", "wait"))),
            "the other threads at a Barrier",
        ),
        (library("threading:wait", "queue:get"), "an item in a Queue"),
        ([python("wait", 3, "/home/u/threading.py"), *COMMON], None),
    ],
)
def test_the_innermost_frame_that_waits_decides(frames: Sequence[PythonFrame], what: str | None) -> None:
    assert notification_of(thread(1, *frames)) == what


def test_who_takes_the_lock_again_after_a_notification_waits_for_the_lock() -> None:
    waits = thread(2, WAIT, *COMMON, waits_for=Lock("rlock", 0x20, 3))
    (found,) = diagnose([process(1, waits, thread(3, *COMMON))])
    assert "waits for the Python RLock at 0x20, which thread 3" in found.text


def told(
    *threads: ThreadReport, context: Sequence[ProcessReport] = (), forked: int | None = None
) -> list[str]:
    one = replace(process(1, *threads, parent=7), forked_from=forked)
    return [finding.text for finding in diagnose([one], context)]


def test_a_lock_that_several_blocks_claim_has_no_known_holder() -> None:
    """All but one have released it there."""
    claims = [thread(tid, *COMMON, held_locks=(0x20,)) for tid in (2, 3)]
    waits = thread(4, USER, waits_for=Lock("lock", 0x20), system_call=FUTEX)
    assert "which thread 2 python holds" in told(claims[0], waits)[0]
    (text,) = told(*claims, waits)
    assert text.endswith("who is to end the wait is not known") and "at 0x20" in text


def test_the_lock_of_a_queue_in_a_thread_of_its_own_is_told() -> None:
    waits = thread(4, ENTER, GET, USER, waits_for=Lock("lock", 0x20, name="a Queue"), system_call=FUTEX)
    (text,) = told(thread(1, *COMMON), waits)
    assert "waits for the Python lock of a Queue at 0x20, in on_signal" in text


def test_a_join_is_an_edge() -> None:
    joins = thread(2, JOIN, *COMMON, joins=3, held_locks=(0x20,))
    asks = thread(3, USER, waits_for=Lock("lock", 0x20))
    assert told(joins, asks) == [
        "deadlock: 2 threads wait for each other, and none can go on\n"
        "thread 2 python waits for thread 3 python to end, in step (train.py:30)\n"
        "thread 3 python waits for the Python lock at 0x20, in on_signal (train.py:9), which thread 2 python holds"
    ]
    assert not any("deadlock" in text for text in told(replace(joins, system_call=TIMED), asks))
    assert activity(replace(joins, system_call=FUTEX)) == "waits for thread 3 to end"
    native = thread(2, NativeFrame(0, 1, "join", "/lib/p.so"), *COMMON, holds=True, joins=3)
    assert told(native, thread(3, USER, waits=True))[0].startswith("deadlock: 2 threads")


GUARD = (
    NativeFrame(0, 1, "syscall", "/lib/libc.so.6"),
    NativeFrame(1, 2, "__cxa_guard_acquire", "/lib/libstdc++.so.6"),
)
RUST = (
    NativeFrame(0, 1, "syscall", "/lib/libc.so.6"),
    NativeFrame(1, 2, "std::sys::pal::unix::futex::futex_wait", "/x/r.so"),
    NativeFrame(2, 3, "std::sys::sync::once::futex::Once::call", "/x/r.so"),
    NativeFrame(3, 4, "std::sync::once_lock::OnceLock<T>::initialize", "/x/r.so"),
)
TABLE, MAKES = NativeFrame(4, 5, "table", "/x/t.so"), NativeFrame(0, 6, "Table::Table", "/x/t.so")


@pytest.mark.parametrize("wait", [GUARD, RUST], ids=["C++", "Rust"])
def test_who_runs_what_runs_once_is_the_other_thread_in_its_function(wait: Sequence[NativeFrame]) -> None:
    waits = thread(2, *wait, TABLE, *COMMON, holds=True, system_call=FUTEX)
    runs = thread(3, USER, MAKES, *wait[2:], TABLE, *COMMON, waits=True)
    (text,) = told(waits, runs)
    assert (
        "waits for the initialization that runs once in table, in " in text
        and "which thread 3 python runs" in text
    )
    third = replace(waits, thread=replace(waits.thread, tid=4, holds_gil=False))
    assert told(waits, runs, third)[1].startswith(
        "thread 4 python waits for the initialization that runs once"
    )
    # Two may run code of that function: which one it is, is not known.
    twice = replace(runs, thread=replace(runs.thread, tid=5, waits_for_gil=False))
    assert not any("runs once" in text for text in told(replace(waits, waits_for=None), runs, twice))


SHUTDOWN = library("threading:_shutdown")


def test_a_program_that_is_over_waits_for_what_it_has_started() -> None:
    main = thread(1, *SHUTDOWN, system_call=FUTEX)
    works, daemon = thread(2, USER, daemon=False), thread(3, USER, daemon=True)
    assert told(main, works, daemon) == [
        "thread 1 python has reached the end of the program, which exits when these have ended:\n"
        "thread 2 python: on_signal (train.py:9), sleeping"
    ]
    pool = thread(1, JOIN, *library("concurrent/futures/thread:_python_exit"), *SHUTDOWN, joins=3)
    assert told(pool, works, daemon)[0].endswith("\nthread 3 python: on_signal (train.py:9), sleeping")
    child = SystemCall("wait4", (77, 0, 0, 0, 0, 0))
    leaves = thread(1, *library("multiprocessing/util:_exit_function"), system_call=child)
    assert told(leaves)[0].endswith(":\nprocess 77")
    assert not is_at_exit(thread(1, USER, *SHUTDOWN))  # code of the user's that exit calls
    assert not is_at_exit(thread(1, JOIN, *COMMON))


def test_the_only_thread_at_a_futex_of_its_own_waits_for_ever() -> None:
    spins = thread(1, USER, system_call=replace(FUTEX, arguments=(0x20, 128, 0, 0, 0, 0)))
    parent = process(7, thread(7, *COMMON), thread(8, *COMMON))
    (text,) = told(spins, context=[parent], forked=7)
    assert "it is the only thread of the process: only a handler of a signal" in text
    assert (
        "was forked from 7, which has 2 threads: what another thread had locked at the fork stays locked"
        in text
    )
    assert "was forked" not in told(spins, context=[parent])[0]
    shared = told(replace(spins, system_call=FUTEX))
    assert shared[0].endswith("who is to end the wait is not known")
    assert told(replace(spins, system_call=TIMED)) == []


def test_threads_that_wait_for_the_same_thing_are_one_line() -> None:
    at = [python("f", 1), python("g", 2)]
    same = [thread(tid, at[tid % 2], waits_for=Lock("lock", 0x20), system_call=FUTEX) for tid in (2, 3, 4)]
    (text,) = told(thread(1, *COMMON), *same)
    assert text.startswith(
        "thread 2 python, thread 3 python, thread 4 python wait for the Python lock at 0x20, in f ("
    )
    assert ", in g (train.py:2)" in text
    child = SystemCall("wait4", (77, 0, 0, 0, 0, 0))
    (text,) = told(*(thread(tid, USER, system_call=child) for tid in (2, 3)))
    assert text == "thread 2 python, thread 3 python wait for process 77 to end, in on_signal (train.py:9)"


def test_that_no_thread_waits_is_said_only_where_it_is_so() -> None:
    listing = StackListing(Style())
    assert listing.findings([], [process(1, thread(1, *COMMON))]).startswith(NOTHING_WRONG)
    text = listing.findings([], [process(1, thread(1, *COMMON), thread(2, USER, system_call=TIMED))])
    assert "no thread waits" not in text and "thread 2 python waits, with a time limit, in on_signal" in text


# -- programs ---------------------------------------------------------------------------------------


def seen(pid: int, *patterns: str) -> str:
    """What is told of a process and its children, once a line has each of these."""
    last = ""

    def look() -> bool:
        nonlocal last
        reports, _ = take([pid, *children_of(pid)], wanted=Wanted.to_diagnose())
        found = diagnose(reports, parents_of_forks(reports, stop=True))
        last = "\n".join(finding.text for finding in found)
        return all(re.search(pattern, last) for pattern in patterns)

    try:
        wait_until(look, 20)
    except pytest.fail.Exception:
        missing = [pattern for pattern in patterns if not re.search(pattern, last)]
        raise AssertionError(f"{missing} is not in: {last}") from None
    return last


@pytest.mark.parametrize("version", rows.versions())
def test_waits_of_python(version: str, tmp_path: Path) -> None:
    with running("waits.py", str(tmp_path), python=other_interpreter(version)) as pid:
        text = seen(
            pid,
            r" to end, in in_handler",  # not an item in a Queue, which it waits for below
            r"asks_condition waits for the Python lock at 0x\w+, which thread \d+ keeps_condition holds",
            r"asks_given waits for .* takes_given holds",  # gives_away has released it within its block
            r"asks_notified waits for the Python lock at 0x\w+, in asks_notified",
            r"waits_notified waits for a Condition to be notified, in waits_notified",
            r"puts_twice waits for the Python lock of a Queue at 0x\w+, in .*__del__ .* which it holds itself",
            r"joins_asker waits for thread \d+ asks_joining to end, in joins_asker",
            r"asks_joining waits for the Python lock .* joins_asker holds",
            r"thread \d+ imports_(\w+), thread \d+ imports_(\w+) wait for the import lock of waits_for_ever, "
            r"which thread \d+ imports_first holds",
        )
    assert "puts_slowly waits" not in text and "deadlock: 2 threads" in text


@pytest.mark.parametrize("version", rows.versions())
def test_a_program_that_does_not_exit(version: str) -> None:
    with running("exits.py", "thread", python=other_interpreter(version)) as pid:
        text = seen(
            pid, "has reached the end of the program", r" works: works .exits.py:9., waits for a lock"
        )
    assert "a daemon: " not in text


@pytest.mark.parametrize(
    ("kind", "patterns"),
    [
        ("pool", (r" pool_0: works .exits.py:9.",)),
        ("child", (r"have ended:\nprocess \d+: works .exits.py:9.",)),
        (
            "fork",
            ("it is the only thread of the process", "which has 2 threads: what another thread had locked"),
        ),
    ],
)
def test_what_a_program_has_started(kind: str, patterns: Sequence[str]) -> None:
    with running("exits.py", kind) as pid:
        try:
            seen(pid, *patterns)
        finally:
            for child in children_of(pid):
                os.kill(child, signal.SIGKILL)


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("once") / "libonce.so"
    compiler = require(shutil.which("g++"), "a C++ compiler")
    subprocess.run(
        [compiler, "-g", "-shared", "-fPIC", PROGRAMS / "once.cpp", "-o", target, "-pthread"], check=True
    )
    return target


@pytest.mark.parametrize(
    ("kind", "patterns"),
    [
        ("once", ("the initialization that runs once in level_of", "makes runs")),
        ("join", ("to end, in .anonymous namespace.::Ticker::~Ticker", "waits for the GIL, in ")),
    ],
)
def test_deadlocks_of_cxx_with_the_gil(kind: str, patterns: Sequence[str], native: Path) -> None:
    with running("native_waits.py", kind, str(native)) as pid:
        text = seen(pid, "deadlock: 2 threads wait for each other", *patterns)
    assert "who is to end the wait is not known" not in text


def test_a_deadlock_of_rust_with_the_gil_and_its_frames(tmp_path: Path) -> None:
    """What is inlined is Rust too, and its library's own functions are between the user's, as ``bt`` has them."""
    library, compiler = tmp_path / "libonce.so", require(shutil.which("rustc"), "rustc", outside=True)
    options = ["-g", "-O", "--crate-type", "cdylib", "--edition", "2021", "-o", library]
    subprocess.run([compiler, *options, PROGRAMS / "once.rs"], check=True, capture_output=True)
    with running("native_waits.py", "once", str(library)) as pid:
        seen(pid, "deadlock: 2 threads wait for each other", "runs once in level_of, .* makes runs")
        (report,), _ = take([pid], wanted=Wanted.to_diagnose(), lines=SourceLines())
    frames = [
        frame
        for each in report.threads
        for frame in each.stack.frames
        if isinstance(frame, NativeFrame) and (frame.file or "").endswith(".rs")
    ]
    assert {frame.source_language for frame in frames} == {"rust"}
    assert any(frame.inlined for frame in frames) and not any(
        "{impl#" in (one.function or "") for one in frames
    )
    own = {frame.function for frame in frames if frame.role is Role.USER}
    assert "level_of" in own and not any((name or "").startswith(("std::", "core::")) for name in own), own
