"""Python's side of a process, read from memory, for every version of the interpreter on this machine."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import PythonFrame
from dualdbg.shared import python_versions
from dualdbg.snapshot.capture import Wanted, capture
from dualdbg.snapshot.cpython.line_tables import line_at
from dualdbg.snapshot.facts import Lock, ProcessReport, ThreadReport
from dualdbg.snapshot.take import take
from tests.snapshot.programs_running import PROGRAMS, running
from tests.support import OUTSIDE, other_interpreter, read_ready, wait_until


@pytest.fixture(params=python_versions.NAMES)
def python(request: pytest.FixtureRequest) -> Path:
    return other_interpreter(request.param)


def test_lines(python: Path) -> None:
    done = subprocess.run(
        [python, PROGRAMS / "dump_lines.py"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    version = tuple(answer["version"])
    count = 0
    for first_line, table, expected in answer["codes"]:
        read = [line_at(version, bytes.fromhex(table), first_line, 2 * at) for at in range(len(expected))]
        assert read == expected
        count += len(expected)
    assert count > 5000


def report_of(pid: int, wanted: Wanted = Wanted()) -> ProcessReport:  # noqa: B008
    reports, failures = take([pid], wanted=wanted)
    assert not failures
    return reports[0]


def thread_named(report: ProcessReport, name: str) -> ThreadReport:
    return next(thread for thread in report.threads if thread.thread.python_name == name)


def settled(pid: int) -> ThreadReport:
    """The worker, once it stands in its innermost read."""

    def look() -> ThreadReport | None:
        thread = thread_named(report_of(pid, Wanted(locks=True, locals=True)), "the worker")
        return thread if thread.system_call and thread.system_call.name == "read" else None

    return wait_until(look, what="the worker reads")


def test_frames_locals_and_locks(python: Path) -> None:
    with running("python_stack.py", python=python) as pid:
        thread = settled(pid)
        frames = [frame for frame in thread.stack.frames if isinstance(frame, PythonFrame)]
        names = [frame.function.rpartition(".")[2] for frame in frames]
        source = (PROGRAMS / "python_stack.py").read_text(encoding="utf-8").splitlines()
        start = names.index("start")
        assert names[:start] in (
            # A frame of its own up to 3.11.
            ["generate", "generate", "<listcomp>", "inner", "<lambda>", "work"],
            ["generate", "generate", "inner", "<lambda>", "work"],
        )
        for frame, text in zip(frames, ("os.read(reader, 1)", "yield from generate"), strict=False):
            assert text in source[frame.line - 1]
        assert "sorted(" in source[frames[start - 1].line - 1]
        assert "Wörker().work(" in source[frames[start].line - 1]
        assert thread.stack.quality.value == "full", thread.stack.note

        position = thread.stack.frames.index(frames[start - 1])
        values = dict(thread.locals[position])
        assert values["count"] == "41"
        assert values["names"] == "('x', 'y')"
        assert values["options"] == "{'flag': True}"
        assert values["text"] == "'grüße'"
        assert values["nested"] == "{'a': [1, 2.5, None]}"
        assert values["cell"] == "[41]"
        assert "Wörker" in values["self"]
        assert len(thread.held_locks) == 1

        main = next(one for one in report_of(pid, Wanted(locals=True)).threads if one.thread.tid == pid)
        position = next(
            at
            for at, frame in enumerate(main.stack.frames)
            if isinstance(frame, PythonFrame) and frame.function == "<module>"
        )
        values = dict(main.locals[position])
        assert values["reader"].isdigit()
        assert "module 'os'" in values["os"]
        assert not any(name.startswith("__") for name in values)


def test_what_calls_init_in_the_interpreter_is_no_frame(python: Path) -> None:
    """From 3.12 on it has a frame of its own, which tracebacks leave out."""
    with running("made_often.py", python=python) as pid:
        (thread,) = report_of(pid).threads
        frames = [frame.function for frame in thread.stack.frames if isinstance(frame, PythonFrame)]
        assert [name.rpartition(".")[2] for name in frames] == ["__init__", "make", "<module>"]
        assert thread.stack.quality.value == "full", thread.stack.note


def test_the_locks_that_threads_wait_for(python: Path) -> None:
    with subprocess.Popen(
        [python, PROGRAMS / "lock_wait.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            ready = read_ready(process)
            (lock,), (rlock,) = ready["lock"], ready["rlock"]
            expected = {"with_lock": Lock("lock", lock), "with_rlock": Lock("rlock", rlock, process.pid)}

            def waits() -> bool:
                threads = report_of(process.pid, Wanted(locks=True)).threads
                return {
                    one.thread.python_name: one.waits_for for one in threads if one.waits_for is not None
                } == expected

            wait_until(waits, what="both locks are known")
        finally:
            process.kill()


JOINS = """\
import threading, time
def sleep(): time.sleep(1000)
def work(): last.join()
others = [threading.Thread(target=sleep, daemon=True) for _ in range(3)]
last, worker = others[1], threading.Thread(target=work, name="worker", daemon=True)
for one in (*others, worker): one.start()
print("ready pid=0", flush=True)
worker.join()
"""


def test_whose_end_a_thread_waits_for(python: Path) -> None:
    with subprocess.Popen([python, "-c", JOINS], stdout=subprocess.PIPE, text=True) as process:
        try:
            read_ready(process)

            def joined() -> list[tuple[int, int]]:
                threads = report_of(process.pid, Wanted(locks=True)).threads
                order = [one.thread.tid for one in threads]
                return [(n, order.index(one.joins)) for n, one in enumerate(threads) if one.joins]

            # They began in this order: main, three that sleep, the worker.
            wait_until(lambda: joined() == [(0, 4), (4, 2)], what="both are in join")
        finally:
            process.kill()


def test_the_gil_and_its_waiters(python: Path) -> None:
    with running("busy.py", python=python) as pid:

        def one_of_each() -> bool:
            report = report_of(pid)
            holders = [t for t in report.threads if t.thread.holds_gil]
            waiters = [t for t in report.threads if t.thread.waits_for_gil]
            return len(holders) == 1 and len(waiters) == 1 and holders != waiters

        wait_until(one_of_each, what="one thread has the GIL and the other wants it")


def test_without_stopping() -> None:
    with running("python_stack.py") as pid:
        settled(pid)
        captured = capture(pid, stop=False)
        assert captured.seconds_stopped is None
        reports, _ = take([pid], stop=False, wanted=Wanted())
        assert reports[0].torn
        thread = thread_named(reports[0], "the worker")
        functions = [frame.function for frame in thread.stack.visible()]
        # Where the C library's ``read`` passes the call on by a jump (AArch64) it has no frame.
        assert functions[0] in ("read", "generate")
        assert "start" in functions


def test_a_thread_that_runs_code_of_two_interpreters(python: Path) -> None:
    """It has a thread state in each of them."""
    with running("interpreters.py", python=python) as pid:
        thread = settled(pid)
        frames = [one for one in thread.stack.frames if isinstance(one, PythonFrame)]
        names = [one.function.rpartition(".")[2] for one in frames]
        assert names == ["inner", "<module>", "work", "run", "_bootstrap_inner", "_bootstrap"], thread
        assert thread.stack.note is None


def test_each_interpreter_with_a_gil_of_its_own_has_a_thread_that_holds_it(python: Path) -> None:
    if tuple(map(int, python.name.removeprefix("python").split("."))) < (3, 12):
        pytest.skip(OUTSIDE + "from 3.12 on an interpreter may have a GIL of its own")
    with running("two_gils.py", python=python) as pid:
        # The first one has waited until the other computes.
        wait_until(lambda: all(one.thread.holds_gil for one in report_of(pid).threads), what="both compute")
        assert len(report_of(pid).threads) == 2
