"""Samples of a process that earlier ones have made quick: what they show is as it was at one moment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dualdbg.errors import UnreadableMemory
from dualdbg.model import PythonFrame
from dualdbg.snapshot.capture import Wanted, capture
from dualdbg.snapshot.facts import ProcessReport
from dualdbg.snapshot.known import Known
from dualdbg.snapshot.linux.memory import PAGE, ProcessMemory
from dualdbg.snapshot.take import take
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
