"""Samples of a process that earlier ones have made quick: what they show is as it was at one moment."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from dualdbg.errors import UnreadableMemory
from dualdbg.model import Frame, PythonFrame
from dualdbg.snapshot.capture import Wanted, capture
from dualdbg.snapshot.facts import ProcessReport
from dualdbg.snapshot.known import Known
from dualdbg.snapshot.linux.memory import PAGE, ProcessMemory
from dualdbg.snapshot.linux.procfs import read_threads
from dualdbg.snapshot.take import same_files, take
from dualdbg.symbols.address_space import AddressSpace
from tests.snapshot.programs_running import running
from tests.support import wait_until

STEADY = """
import os, threading
print(f"ready pid={os.getpid()}", flush=True)
def inner(): threading.Event().wait()
def outer(): inner()
outer()
"""
# Two chains of calls in turn: a stack with frames of both was there at no moment. New code now and then.
ALTERNATES = """
import os
print(f"ready pid={os.getpid()}", flush=True)
def turn(a, b, c):
    def third(): return sum(range(40))
    def second(): return third() + sum(range(40))
    def first(): return second() + sum(range(40))
    for each, name in zip((first, second, third), (a, b, c)):
        each.__code__ = each.__code__.replace(co_name=name, co_qualname=name)
    for _ in range(3000):
        first()
while True:
    turn("red1", "red2", "red3")
    turn("blue1", "blue2", "blue3")
"""
WANTED = Wanted.for_profile()


@contextmanager
def program(folder: Path, text: str) -> Iterator[int]:
    """The PID of a program with this text."""
    path = folder / "program.py"
    path.write_text(text)
    with running(str(path)) as pid:
        yield pid


def wait_until_inside(pid: int) -> None:
    """Until the steady program waits, which it does for good."""

    def waits() -> bool:
        frames = capture(pid, wanted=WANTED).states[pid].frames
        return bool(frames) and frames[0].function == "Condition.wait"

    wait_until(waits)


def python_names(report: ProcessReport) -> list[str]:
    frames = [frame for thread in report.threads for frame in thread.stack.frames]
    return [frame.function for frame in frames if isinstance(frame, PythonFrame)]


def test_a_program_that_stays_where_it_is_is_read_by_one_call(tmp_path: Path) -> None:
    with program(tmp_path, STEADY) as pid:
        wait_until_inside(pid)
        known = Known(AddressSpace(pid))
        for _ in range(3):
            captured = capture(pid, wanted=WANTED, known=known)
        assert isinstance(captured.memory, ProcessMemory)
        assert captured.memory.loaded == [] and captured.memory.late_pages == 0
        reports, failures = take([pid], wanted=WANTED, known={pid: known})
        assert not failures and python_names(reports[0])[-3:] == ["inner", "outer", "<module>"]
        assert not reports[0].notes


def test_no_sample_mixes_two_moments(tmp_path: Path) -> None:
    with program(tmp_path, ALTERNATES) as pid:
        known: dict[int, Known] = {}
        quick = 0
        for _ in range(150):
            quick += bool(known and known[pid].pages)
            reports, failures = take([pid], wanted=WANTED, known=known)
            assert not failures
            names = python_names(reports[0])
            colours = {name[:-1] for name in names if name[-1].isdigit()}
            assert len(colours) <= 1, names
            depth = [name[-1] for name in reversed(names) if name[-1].isdigit()]
            assert depth == ["1", "2", "3"][: len(depth)], names
        assert quick > 10  # else nothing was tried


def test_pages_that_are_gone_are_left_out() -> None:
    image = AddressSpace(os.getpid())
    image.refresh()
    there = image.modules[0].start // PAGE
    memory = ProcessMemory(os.getpid())
    copy = memory.keeper([there, 3])
    copy()()
    memory.freeze()
    assert memory.read(there * PAGE, 4) == b"\x7fELF"
    with pytest.raises(UnreadableMemory):
        memory.read(3 * PAGE, 4)
    assert memory.late_pages == 0


def test_what_was_not_kept_is_read_at_another_stop(tmp_path: Path) -> None:
    with program(tmp_path, STEADY) as pid:
        wait_until_inside(pid)
        captured = capture(pid, wanted=WANTED)
        known = Known(AddressSpace(pid), pages=frozenset({1}))  # none of those that are needed
        again = capture(pid, wanted=WANTED, known=known)
        assert again.states[pid].frames == captured.states[pid].frames
        assert again.memory.late_pages == 0 and again.python_trouble is None


def test_a_library_that_is_loaded_between_two_samples_is_known(tmp_path: Path) -> None:
    """The map is read once for each sample, after it: of one that has changed the sample is taken again."""
    library = tmp_path / "libmore.so"
    source = "int spin(volatile int *go) { while (*go) ; return 0; }"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", library, "-xc", "-"], input=source, text=True, check=True
    )
    code = f"""
import ctypes, sys
print("ready", flush=True)
def wait():
    while True:
        try:
            open({str(tmp_path / "go")!r}).close()
            return
        except OSError:
            sum(range(100))
wait()
def in_library():
    ctypes.CDLL({str(library)!r}).spin(ctypes.byref(ctypes.c_int(1)))
in_library()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            known: dict[int, Known] = {}
            wait_until(
                lambda: bool(take([process.pid], wanted=WANTED, known=known) and known[process.pid].pages)
            )
            (tmp_path / "go").touch()
            wait_until(lambda: str(library) in Path(f"/proc/{process.pid}/maps").read_text())
            wait_until(lambda: "spin" in _functions(process.pid, known))
        finally:
            process.kill()


def _functions(pid: int, known: dict[int, Known]) -> list[str | None]:
    (report,), failures = take([pid], wanted=WANTED, known=known)
    assert not failures and report.notes == ()
    return [frame.function for frame in report.threads[0].stack.frames]


# Threads that wait in turn in functions of equal stacks, two for each: whoever writes to one's pipe makes it go over.
WAITS = """
import os, sys, threading
def red(pipe): os.read(pipe, 1)
def blue(pipe): os.read(pipe, 1)
def work(number, pipe):
    while True:
        for wait in red, blue:
            wait(pipe)
            os.write(1, b"%d" % number)
pipes = [os.pipe() for _ in range(3)]
for number, (reader, _) in enumerate(pipes):
    threading.Thread(target=work, args=(number, reader), daemon=True).start()
print("ready", flush=True)
while number := sys.stdin.buffer.read(1):
    os.write(pipes[int(number)][1], b"x")
"""


def test_threads_that_sleep_on_are_not_stopped(tmp_path: Path) -> None:
    with program(tmp_path, STEADY) as pid:
        wait_until_inside(pid)
        known = {pid: Known(AddressSpace(pid))}

        def is_spared() -> bool:
            ((report,), failures) = take([pid], wanted=WANTED, known=known)
            assert not failures and python_names(report)[-3:] == ["inner", "outer", "<module>"]
            # One that the sample before has stopped runs for a moment before it sleeps again.
            return report.threads[0].state == "S" and report.stopped == 0.0

        wait_until(is_spared)
        assert is_spared()


def test_a_thread_that_has_woken_since_is_read_anew() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdin is not None and process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            known: dict[int, Known] = {}
            place = ["red"] * 3
            spared = 0
            for turn in range(60):
                if turn % 3 == 0:
                    number = turn // 3 % 3
                    process.stdin.write(b"%d" % number)
                    process.stdin.flush()
                    assert process.stdout.read(1) == b"%d" % number
                    place[number] = "blue" if place[number] == "red" else "red"
                    wait_until(lambda: _waits(process.pid))
                (report,), failures = take([process.pid], wanted=WANTED, known=known)
                spared += report.stopped == 0.0
                assert not failures and not report.notes
                threads = sorted(report.threads, key=lambda each: each.thread.tid)[1:]
                names = [
                    next(f.function for f in each.stack.frames if isinstance(f, PythonFrame))
                    for each in threads
                ]
                assert names == place
                # What ``read`` calls in glibc has no name where the library is stripped.
                # On AArch64 ``read`` passes the call on by a jump, and has no frame.
                if platform.machine() == "x86_64":
                    assert all(_first_name(each.stack.frames) == "read" for each in threads)
            assert spared > 10
        finally:
            process.kill()


def _first_name(frames: Sequence[Frame]) -> str | None:
    return next(frame.function for frame in frames if frame.function)


def _waits(pid: int) -> bool:
    return all(thread.state == "S" for thread in read_threads(pid, deep=False))


def test_a_sample_by_an_earlier_map_counts_when_the_files_are_the_same(tmp_path: Path) -> None:
    with program(tmp_path, STEADY) as pid:
        wait_until_inside(pid)
        one = Known(AddressSpace(pid), may_defer=True)

        def defers() -> bool:
            take([pid], wanted=WANTED, known={pid: one})
            return one.defers

        wait_until(defers)
        rows = one.image._rows  # of the map that was read last
        (report,), _ = take([pid], wanted=WANTED, known={pid: one})
        assert one.image._rows is rows and python_names(report)[-1] == "<module>"
        assert same_files({pid: one}) == {pid} and one.defers
    assert same_files({pid: one}) == frozenset() and not one.defers
