"""Whether a thread has moved between two looks: on made-up threads, and on real ones that wait in every way."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from dualdbg.snapshot.capture import Wanted
from dualdbg.snapshot.facts import Descriptor, ProcessReport, SystemCall
from dualdbg.snapshot.linux.registers import X86_64, Registers, registers_from_regset
from dualdbg.snapshot.report.diagnose import diagnose
from dualdbg.snapshot.report.standing import Standing, all_stand_still, standing, stands_still
from dualdbg.snapshot.report.waits import Earlier
from dualdbg.snapshot.take import take

from ..support import wait_until
from .test_pure import COMMON, process, thread

BLOCKED = Standing(7, 8, "ab", "read(0x3)", 0.0, 40, 2, 1.0)
POLLS = replace(BLOCKED, call="poll", expiries=20.0)
UNKNOWN = replace(BLOCKED, call="futex", expiries=None)
ASLEEP = replace(UNKNOWN, call="clock_nanosleep")


@pytest.mark.parametrize(
    ("before", "changed", "still"),
    [
        (BLOCKED, {"sleeps": 42}, True),
        (BLOCKED, {"sleeps": 43}, False),  # what it waited for came once
        (BLOCKED, {"sleeps": 41}, True),
        (BLOCKED, {"sleeps": None}, True),
        (BLOCKED, {"stack": "cd"}, False),
        (BLOCKED, {"call": "read(0x4)"}, False),
        (BLOCKED, {"sleeps": 42, "cpu": 1.1}, False),
        (POLLS, {"sleeps": 40 + 2 + 2 * 20 + 1}, True),
        (POLLS, {"sleeps": 40 + 2 + 2 * 20 + 2}, False),
        (UNKNOWN, {"sleeps": 4000}, True),
        (UNKNOWN, {"sleeps": 4000, "cpu": 1.1}, False),
        (ASLEEP, {"sleeps": 42}, True),
        (ASLEEP, {"sleeps": 43}, False),  # the next sleep
        (replace(BLOCKED, of_ours=0), {"sleeps": 40}, True),
        (replace(BLOCKED, of_ours=0), {"sleeps": 41}, False),
    ],
)
def test_who_stands_still_for_two_seconds(before: Standing, changed: dict[str, object], still: bool) -> None:
    now = replace(before, **changed)  # type: ignore[arg-type]
    assert stands_still(before, now, 2.0) is still
    assert all_stand_still([before], [now], 2.0) is still
    assert all_stand_still([replace(before, tid=9)], [now], 2.0)  # no earlier look at this one


@pytest.mark.parametrize(
    ("name", "arguments", "expiries"),
    [
        ("sendto", (3, 0, 0, 0, 0, 0), 0.0),
        ("futex", (0x10, 128, 0, 0, 0, 0), 0.0),
        ("futex", (0x10, 137, 0, 0x7FFF0000, 0, 0), None),
        ("poll", (0x10, 1, 50, 0, 0, 0), 20.0),
        ("poll", (0x10, 1, 0xFFFFFFFF, 0, 0, 0), 0.0),
        ("epoll_wait", (3, 0x10, 8, (1 << 64) - 1, 0, 0), 0.0),
        ("select", (3, 0x10, 0, 0, 0, 0), 0.0),
        ("system call 999", (0, 0, 0, 0, 0, 0), None),
    ],
)
def test_the_time_limit_of_a_call(name: str, arguments: tuple[int, ...], expiries: float | None) -> None:
    one = process(1, thread(1, *COMMON, system_call=SystemCall(name, arguments)))
    found = standing(one, one.threads[0])
    assert found.expiries == expiries
    assert (found.call == name) is (expiries != 0.0)  # else with its arguments: they stay what they are


def look(sleeps: int, target: str = "tcp socket") -> ProcessReport:
    sends = SystemCall("sendto", (3, 0x7F00, 8, 0, 0, 0), Descriptor(3, target))
    return process(1, thread(1, *COMMON, system_call=sends, sleeps=sleeps, cpu=1.0))


def test_with_two_looks_only_who_stands_still_is_told() -> None:
    assert [finding.kind for finding in diagnose([look(42)], (), Earlier([look(40)], 1.0))] == ["io"]
    assert diagnose([look(43)], (), Earlier([look(40)], 1.0)) == []
    (finding,) = diagnose([look(40)])
    assert [each.sleeps for each in finding.waiting] == [40]


PROGRAMS = {
    "read": "os.read(os.pipe()[0], 1)",
    "lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "poll": "p = select.poll(); [p.poll(20) for _ in iter(int, 1)]",
    "queue": "queue.Queue().get()",
    "event": "e = threading.Event(); [e.wait(0.05) for _ in iter(int, 1)]",
    "child": "subprocess.run(['sleep', '100'])",
    "epoll": "select.epoll().poll()",
    "sleep": "time.sleep(1000)",
}
MOVING = {
    # Each writes to the other and reads its answer: at any moment one of them waits in the same call as before.
    "answers": """
a, b = socket.socketpair()
def answer():
    while True: b.sendall(b.recv(1)); time.sleep(0.01)
threading.Thread(target=answer, daemon=True).start()
while True: a.sendall(b"x"); a.recv(1); went_on()
""",
    "items": """
items = queue.Queue()
def work():
    while True: items.put(1); time.sleep(0.01)
threading.Thread(target=work, daemon=True).start()
while True: items.get(); went_on()
""",
    "sleeps": "while True: time.sleep(0.02); went_on()",
}
BEGIN = """\
import os, queue, select, socket, subprocess, sys, threading, time
rounds = open(sys.argv[1], "ab", 0)
def went_on(): rounds.write(b".")
print("there", flush=True)
"""


@contextmanager
def started(code: str, rounds: Path) -> Iterator[int]:
    """A program that runs this, and may write to the file how often it went on."""
    command = [sys.executable, "-c", BEGIN + code, str(rounds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as one:
        try:
            assert one.stdout is not None and one.stdout.readline() == "there\n"
            yield one.pid
        finally:
            for child in take_children(one.pid):
                subprocess.run(["kill", "-9", child], check=False)
            one.kill()


def take_children(pid: int) -> list[str]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()


def main_thread(pid: int) -> tuple[Standing, float]:
    (report,), _ = take([pid], wanted=Wanted(locks=True))
    return standing(report, report.threads[0]), time.monotonic()


def compared(pid: int, between: Callable[[], object]) -> bool | None:
    """Whether its main thread stands still while something is done; None where it was at two places."""
    before, began = main_thread(pid)
    between()
    now, ended = main_thread(pid)
    if (before.stack, before.call) != (now.stack, now.call):
        return None
    return stands_still(before, now, ended - began)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_real_thread_that_waits(kind: str, tmp_path: Path) -> None:
    with started(PROGRAMS[kind], tmp_path / "rounds") as pid:
        # It may not have reached its call at the first look.
        wait_until(lambda: compared(pid, lambda: time.sleep(0.3)), what="two looks at the same place")


@pytest.mark.parametrize("kind", MOVING)
def test_a_real_thread_that_is_at_the_same_place_again(kind: str, tmp_path: Path) -> None:
    rounds = tmp_path / "rounds"

    def size() -> int:
        return rounds.stat().st_size if rounds.exists() else 0

    def three_rounds() -> None:
        begun = size()
        wait_until(lambda: size() > begun + 3, what="it goes on")

    def moves() -> str | None:
        found = compared(pid, three_rounds)
        return None if found is None else "still" if found else "moved"

    with started(MOVING[kind], rounds) as pid:
        three_rounds()
        looks = [wait_until(moves, what="two looks at the same place") for _ in range(4)]
        assert looks == ["moved"] * 4


def of_call(number: int, result: int) -> Registers:
    words = [0] * 27
    words[15], words[10] = number, result % (1 << 64)
    return registers_from_regset(b"".join(word.to_bytes(8, "little") for word in words))


def test_a_call_that_has_a_result_is_over() -> None:
    assert not any(of_call(44, -result).has_returned for result in (4, 512, 513, 514, 516))
    assert all(of_call(44, result).has_returned for result in (0, 8, -11))
    assert of_call(44, 8).architecture is X86_64
    assert not of_call(-1 % (1 << 64), 8).has_returned
