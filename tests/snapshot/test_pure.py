"""Folding, movement and diagnosis on made-up processes; expressions of DWARF."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualdbg.console.style import Style
from dualdbg.errors import SymbolError, UnreadableMemory
from dualdbg.model import NativeFrame, PythonFrame, Quality, Role, Stack, Task, Tasks, TaskState, Thread
from dualdbg.snapshot.facts import Descriptor, Failure, Lock, ProcessReport, SystemCall, ThreadReport
from dualdbg.snapshot.linux.memory import Memory
from dualdbg.snapshot.report.diagnose import diagnose
from dualdbg.snapshot.report.fold import fold, ranges
from dualdbg.snapshot.report.jobs import member_of
from dualdbg.snapshot.report.movement import movements
from dualdbg.snapshot.report.recursion import runs
from dualdbg.snapshot.report.telling_frame import place, where, where_faulted, with_fault_shown
from dualdbg.snapshot.report.waits import Earlier
from dualdbg.snapshot.report.wording import activity
from dualdbg.snapshot.unwind.dwarf_expressions import evaluate
from dualdbg.stack_listing import StackListing


def python(name: str, line: int = 1, file: str = "/home/me/train.py") -> PythonFrame:
    return PythonFrame(name, file, line)


def thread(
    tid: int,
    *frames: PythonFrame | NativeFrame,
    holds: bool = False,
    waits: bool = False,
    state: str = "S",
    **more: object,
) -> ThreadReport:
    return ThreadReport(
        thread=Thread(tid, "python", holds_gil=holds, waits_for_gil=waits),
        stack=Stack(tid, frames, Quality.FULL),
        state=state,
        **more,  # type: ignore[arg-type]
    )


def process(pid: int, *threads: ThreadReport, parent: int = 1, label: str | None = None) -> ProcessReport:
    return ProcessReport(pid, parent, "python train.py", "3.11", threads, 0.001, label=label)


COMMON = (python("step", 30), python("main", 40), python("<module>", 50))


def test_the_odd_one_comes_first() -> None:
    ranks = [process(n, thread(n, python("wait", 10), *COMMON), label=f"rank {n}") for n in range(7)]
    odd = process(7, thread(7, python("load", 20), *COMMON), label="rank 7")
    groups = fold([*ranks, odd])
    assert [len(group.members) for group in groups] == [1, 7]
    assert groups[0].members[0].process is odd
    assert (groups[0].differs_from, groups[0].differs_at) == (1, 0)
    assert groups[1].differs_from is None


def test_equal_code_at_other_addresses_is_equal() -> None:
    """A library without names lies at another page in another process."""
    stacks = [
        process(n, thread(n, NativeFrame(0, 0x7F0000001234 + n * 0x5000, None, "/lib/x.so"))) for n in (1, 2)
    ]
    assert len(fold(stacks)) == 1
    other = process(3, thread(3, NativeFrame(0, 0x7F0000001235, None, "/lib/x.so")))
    assert len(fold([*stacks, other])) == 2


def test_a_thread_with_the_gil_is_told_apart() -> None:
    groups = fold([process(1, thread(1, *COMMON), thread(2, *COMMON), thread(3, *COMMON, holds=True))])
    assert [[m.thread.thread.tid for m in group.members] for group in groups] == [[3], [1, 2]]


def test_ranges() -> None:
    assert ranges([0, 1, 2, 6, 4, 5, 9]) == "0-2, 4-6, 9"


def test_movements() -> None:
    still = thread(1, python("wait"))
    samples = [[process(5, still, thread(2, python("work", line)))] for line in (1, 2, 2)]
    first, second = movements(samples, 1.0)
    assert not first.moved
    assert second.moved
    assert second.places == (("work (train.py:1)", 1), ("work (train.py:2)", 2))
    assert second.samples == 3


def test_a_thread_that_is_woken_has_moved_though_its_stack_is_the_same() -> None:
    call = SystemCall("read", (3, 0, 0, 0, 0, 0))
    samples = [
        [process(5, thread(1, *COMMON, system_call=call, sleeps=n), thread(2, *COMMON, cpu=n))]
        for n in (40, 42, 90)
    ]
    first, second = movements(samples[:2], 1.0)
    assert (first.moved, second.moved) == (False, True)
    first, second = movements(samples, 1.0)
    assert first.moved and first.stacks == 1
    text = StackListing(Style()).movements([first])
    assert "1 of 1 threads moved" in text and "at the same place again" in text and "stood still" not in text


def test_samples_are_as_far_apart_as_they_say() -> None:
    """A second for each sample, and two for the samples themselves: 0.1 s of CPU time is little in so long."""
    samples = [
        [
            replace(
                process(5, thread(1, *COMMON, cpu=n * 0.1), thread(2, *COMMON, cpu=n * 0.2)), at=7 + n * 3.0
            )
        ]
        for n in range(3)
    ]
    assert [one.moved for one in movements(samples, 1.0)] == [False, True]


def kinds(*processes: ProcessReport, context: tuple[ProcessReport, ...] = ()) -> list[str]:
    return [finding.kind for finding in diagnose(processes, context)]


def test_a_ring_of_three() -> None:
    ring = process(
        1,
        thread(11, *COMMON, holds=True, waits_for=Lock("mutex", 0x10, 12)),
        thread(12, *COMMON, waits_for=Lock("lock", 0x20)),
        thread(13, *COMMON, waits=True, held_locks=(0x20,)),
        thread(14, *COMMON, waits=True),
    )
    findings = diagnose([ring])
    assert [finding.kind for finding in findings] == ["deadlock", "gil"]
    assert sorted(findings[0].threads) == [(1, 11), (1, 12), (1, 13)]
    assert "the mutex at 0x10" in findings[0].text
    assert findings[1].threads == ((1, 14),)


@pytest.mark.parametrize("timeout", [0, 0x7FFF0000])
def test_a_ring_in_which_one_gives_up_is_no_deadlock(timeout: int) -> None:
    call = SystemCall("futex", (0x20, 137, 0, timeout, 0, 0))
    ring = process(
        1,
        thread(11, *COMMON, waits_for=Lock("mutex", 0x10, 12), system_call=call),
        thread(12, *COMMON, waits_for=Lock("mutex", 0x20, 11)),
    )
    found = diagnose([ring])
    assert [each.kind for each in found] == (["lock", "lock"] if timeout else ["deadlock"])
    assert ("none can go on" in found[0].text) is not bool(timeout)
    assert any("waits, with a time limit, for the mutex at 0x10" in each.text for each in found) is bool(
        timeout
    )


@pytest.mark.parametrize(
    ("apart", "sleeps", "cpu", "ready", "words"),
    [
        (1.0, 2, 0.2, 0.97, "is busy: it waited for nothing in the last 1 s and used 0.2 s of CPU time"),
        (1.0, 900, 0.2, 0.97, None),  # what it waited for came 900 times, and then it waited for a processor
        (1.0, 900, 0.95, 0.97, "is busy: it used 0.9 s of CPU time in the last 1 s,"),
        # The looks themselves took their time.
        (4.04, 900, 3.9, 4.0, "is busy: it used 3.9 s of CPU time in the last 4 s,"),
        (4.04, 900, 1.2, 4.0, None),
        (4.04, 2, 0.2, 1.2, None),
    ],
)
def test_who_sleeps_is_busy_only_by_its_time_on_a_processor(
    apart: float, sleeps: int, cpu: float, ready: float, words: str | None
) -> None:
    def look(n: int) -> ProcessReport:
        one = thread(1, *COMMON, state="R", sleeps=40 + n * sleeps, cpu=n * cpu, ready=n * ready)
        return replace(process(1, one), at=100 + n * apart)

    looks = [[look(n)] for n in (0, 1)]
    found = diagnose(looks[1], (), Earlier(looks[0], 1.0))
    assert [words in each.text for each in found if words] == ([True] if words else [])
    assert bool(found) is (words is not None)


@pytest.mark.parametrize(("ready", "is_busy"), [(0.7, True), (0.6, False)])
def test_who_was_stopped_by_the_look_had_nothing_to_do_meanwhile(ready: float, is_busy: bool) -> None:
    """A stop takes a fifth of a second on a busy machine, or with many threads."""

    def look(n: int) -> ProcessReport:
        one = thread(1, *COMMON, state="R", sleeps=40, cpu=n * ready, ready=n * ready)
        return replace(process(1, one), at=100.0 + n, stopped=0.25)

    found = diagnose([look(1)], (), Earlier([look(0)], 1.0))
    assert [each.kind for each in found] == (["busy"] if is_busy else [])


def test_a_mutex_that_nobody_is_there_to_release() -> None:
    def of(lock: Lock, timeout: int = 0) -> list[tuple[str, str]]:
        call = SystemCall("futex", (0x10, 137, 0, timeout, 0, 0))
        found = diagnose([process(1, thread(11, *COMMON, waits_for=lock, system_call=call))])
        return [(each.kind, each.text) for each in found]

    ((kind, text),) = of(Lock("mutex", 0x10, 11))
    assert kind == "deadlock" and text.endswith("which it holds itself")
    ((kind, text),) = of(Lock("mutex", 0x10, 12, owner_is_gone=True))
    assert kind == "lock" and "which thread 12 has locked" in text and "no such thread" in text
    ((kind, text),) = of(Lock("mutex", 0x10, 12))  # no thread of ours: it may be no mutex at all
    assert kind == "lock" and "waits to be woken" in text and "12" not in text and "only thread" in text
    assert of(Lock("mutex", 0x10, 11), timeout=0x7F00) == []


def test_a_ring_with_the_gil_is_one_also_where_its_thread_looks_again() -> None:
    """It is woken every 5 ms, and may be met on its way out of that wait."""

    def look(call: SystemCall | None) -> ProcessReport:
        asks = thread(12, *COMMON, waits=True, system_call=call)
        return process(1, thread(11, *COMMON, holds=True, waits_for=Lock("mutex", 0x10, 12)), asks)

    before, now = look(SystemCall("futex", (0x20, 137, 0, 0x7F00, 0, 0))), look(None)
    assert [each.kind for each in diagnose([now], (), Earlier([before], 1.0))] == ["deadlock"]
    healthy = [process(1, thread(11, *COMMON, holds=True), one.threads[1]) for one in (before, now)]
    assert diagnose(healthy[1:], (), Earlier(healthy[:1], 1.0)) == []


def test_waiting_is_no_deadlock() -> None:
    chain = process(
        1, thread(11, *COMMON, holds=True), thread(12, *COMMON, waits=True), thread(13, *COMMON, waits=True)
    )
    (finding,) = diagnose([chain])
    assert finding.kind == "gil"
    assert finding.threads == ((1, 12), (1, 13))
    holder = thread(11, *COMMON, holds=True, system_call=SystemCall("futex", (0x20, 0, 0, 0, 0, 0)))
    finding, *_ = diagnose([process(1, holder, thread(12, *COMMON, waits=True))])
    assert finding.text.splitlines() == [  # one clause a thought
        "thread 12 python waits for the GIL, which thread 11 python holds in step (train.py:30)",
        "thread 11 python: waits to be woken (futex)",
    ]
    assert activity(thread(12, *COMMON, waits=True, state="R")) == "waits for the GIL"


def task(address: int, *awaits: int, through: str = "await", others: int = 0, name: str = "") -> Task:
    return Task(
        address,
        name or f"Task-{address}",
        "work",
        TaskState.WAITING,
        (python("sleep", 1, "/usr/lib/python3.11/asyncio/tasks.py"), python("work", 10 * address)),
        *(0x10, "uvloop.Loop", 7),
        waits_for=", ".join(f"Task-{one}" for one in awaits) or "a future",
        awaits=awaits,
        other_futures=others,
        through=through if awaits else None,
    )


def of_tasks(*tasks: Task) -> list[str]:
    one = replace(process(1, thread(7, *COMMON)), tasks=Tasks(tasks))
    return [finding.text for finding in diagnose([one]) if finding.kind == "task-deadlock"]


def test_tasks_that_await_each_other() -> None:
    """Those that wait for the ring are not in it; that one of the ring is gathered does not help it."""
    ring = task(1, 2), task(2, 3, through="gather"), task(3, 1, through="shield")
    assert of_tasks(*ring, task(4, 1), task(5, 4), task(6)) == [
        "deadlock: 3 tasks await each other, and none can go on unless one is cancelled\n"
        "task Task-1, in work (train.py:10), waits for Task-2\n"
        "task Task-2, in work (train.py:20), waits for Task-3\n"
        "task Task-3, in work (train.py:30), waits for Task-1"
    ]
    assert len(of_tasks(task(1, 2), task(2, 1), task(3, 4), task(4, 3))) == 2


@pytest.mark.parametrize(
    "second",
    [
        task(2, 3),
        task(2, 1, through="wait"),  # it may have a time limit, or be content with another one
        task(2, 1, through="wait_for"),
        task(2, 1, through="gather", others=1),  # which may fail, and end it
        task(2, 1, 3, through="gather"),
    ],
    ids=["no ring", "wait", "wait_for", "other futures", "other tasks"],
)
def test_tasks_that_may_go_on_are_no_deadlock(second: Task) -> None:
    assert of_tasks(task(1, 2), second, task(3)) == []


def test_a_thread_that_waits_for_a_lock_of_its_own() -> None:
    """Said only where memory says so: any thread may release a Lock, and a mutex of shared memory is of others too."""
    own = thread(1, *COMMON, waits_for=Lock("lock", 0x20), held_locks=(0x20,))
    other = thread(2, *COMMON)
    (finding,) = diagnose([process(1, own, other)])
    assert finding.kind == "lock" and finding.threads == ((1, 1),)
    assert (
        "which it holds itself" in finding.text and "only another thread that calls release()" in finding.text
    )
    (alone,) = diagnose([process(1, thread(1, *COMMON, waits_for=Lock("lock", 0x20)))])
    assert "it is the only thread of the process" in alone.text
    assert diagnose([process(1, thread(1, *COMMON, waits_for=Lock("lock", 0x20)), other)]) == []
    (mutex,) = diagnose([process(1, thread(1, *COMMON, waits_for=Lock("mutex", 0x20, 1)))])
    assert mutex.text.endswith("which it holds itself")
    assert diagnose([process(1, thread(1, *COMMON, waits_for=Lock("mutex", 0x20, 0)))]) == []


def test_what_a_futex_is_waited_for() -> None:
    call = SystemCall("futex", (0x20, 0, 0, 0, 0, 0))
    assert activity(thread(1, *COMMON, system_call=call)) == "waits to be woken (futex)"
    known = thread(1, *COMMON, system_call=call, waits_for=Lock("lock", 0x20))
    assert activity(known) == "waits for a lock (futex)"


def test_a_lock_that_was_held_at_the_fork() -> None:
    parent = process(1, thread(11, *COMMON), thread(12, python("refresh"), held_locks=(0x20,)))
    child = process(2, thread(2, *COMMON, waits_for=Lock("lock", 0x20)), parent=1)
    assert kinds(child, context=(parent,)) == ["fork-with-lock"]
    mutex = process(2, thread(2, *COMMON, waits_for=Lock("mutex", 0x30, 12)), parent=1)
    assert kinds(mutex, context=(parent,)) == ["fork-with-lock"]
    unknown = process(2, thread(2, *COMMON, waits_for=Lock("mutex", 0x30, 99)), parent=1)
    assert kinds(unknown, context=(parent,)) == []


def test_io_and_children() -> None:
    reading = SystemCall("read", (3, 0, 0, 0, 0, 0), Descriptor(3, "pipe:[7]", (1, 4)))
    waiting = SystemCall("wait4", (77, 0, 0, 0, 0, 0))
    findings = diagnose(
        [process(1, thread(11, *COMMON, system_call=reading), thread(12, *COMMON, system_call=waiting))]
    )
    assert [finding.kind for finding in findings] == ["io", "child"]
    assert "read from descriptor 3 (pipe:[7])" in findings[0].text
    assert "the other end is open in 1, 4" in findings[0].text
    assert "process 77 to end" in findings[1].text


@pytest.mark.parametrize(
    ("innermost", "call"),
    [
        ([("Condition.wait", "threading"), ("Event.wait", "threading")], None),
        ([("Condition.wait", "threading"), ("Queue._feed", "multiprocessing/queues")], None),
        ([("socket.accept", "socket"), ("_serve", "multiprocessing/resource_sharer")], "accept4"),
    ],
)
def test_a_librarys_own_thread_that_waits_for_work_is_normal(
    innermost: list[tuple[str, str]], call: str | None
) -> None:
    library = [python(function, 1, f"/usr/lib/python3.11/{file}.py") for function, file in innermost]
    begin = python("Thread._bootstrap", 1, "/usr/lib/python3.11/threading.py")
    waits = None if call is None else SystemCall(call, (3,) * 6, Descriptor(3, "socket:[7]"))
    of_library = [*library, begin]
    of_user = [*library, python("watch", 5, "/home/u/train.py"), begin]
    kind = "notification" if call is None else "io"
    main = thread(1, *COMMON)
    assert kinds(process(1, main, thread(2, *of_library, system_call=waits))) == []
    # A loop that is known waits for work, whoever has called it, in the main thread of a server too.
    known = any(function in ("Queue._feed", "_serve") for function, _ in innermost)
    told = [] if known else [kind]
    assert kinds(process(1, main, thread(2, *of_user, system_call=waits))) == told
    # In a program that is installed nobody knows whose a thread is.
    installed = thread(1, python("main", 1, "/usr/lib/python3.11/site-packages/tool/__main__.py"))
    assert kinds(process(1, installed, thread(2, *of_library, system_call=waits))) == told
    assert kinds(process(1, thread(1, *of_library, system_call=waits))) == told


def test_a_call_that_is_being_carried_out_is_no_wait() -> None:
    sends = SystemCall("sendto", (3,) * 6, Descriptor(3, "tcp socket"))
    assert kinds(process(1, thread(1, *COMMON, system_call=sends))) == ["io"]
    assert kinds(process(1, thread(1, *COMMON, system_call=sends, state="R"))) == []


def test_the_rank_that_is_missing_in_a_collective() -> None:
    reduce = python("all_reduce", 9, "/x/site-packages/torch/distributed/distributed_c10d.py")
    inside = [process(n, thread(n, reduce, *COMMON), label=f"rank {n}") for n in (10, 11)]
    outside = process(12, thread(12, python("load", 20), *COMMON), label="rank 12")
    (finding,) = diagnose([*inside, outside])
    assert finding.kind == "collective"
    assert finding.text.splitlines() == [
        "rank 12 (process 12) has not called all_reduce, for which ranks 10-11 wait: "
        "it is in load (train.py:20), sleeping",
        "ranks 10-11 are in all_reduce, called in step (train.py:30)",
    ]


class Bytes(Memory):
    """Memory that holds one page."""

    def _load(self, page: int) -> bytes | None:
        return bytes(range(256)) * 16 if page == 1 else None


def run(*expression: int, registers: tuple[int | None, ...] = (), initial: int | None = None) -> int:
    return evaluate(bytes(expression), registers, Bytes(), initial)


def test_of_a_rank_whose_main_thread_joins_another_one_that_is_told() -> None:
    library = python("Thread.run", 982, "/usr/lib/python3.11/threading.py")

    def told(main: int, worker: int) -> tuple[str, int]:
        threads = [
            thread(1, python("main", 40), joins=main),
            thread(2, library),
            thread(3, python("heartbeat", 3), library),
            thread(4, python("lost", 7), library, joins=worker),
        ]
        member = member_of(process(1, *threads, label="rank 0"))
        assert member.standing is not None
        return member.place, member.standing.tid

    assert told(main=4, worker=2) == ("lost (train.py:7) of thread python", 4)  # a library runs thread 2
    assert told(main=4, worker=3) == ("heartbeat (train.py:3) of thread python", 3)
    assert told(main=4, worker=1) == ("lost (train.py:7) of thread python", 4)
    assert told(main=0, worker=0) == told(main=2, worker=0) == ("main (train.py:40)", 1)


def test_expressions() -> None:
    assert run(0x30 + 5, 0x30 + 3, 0x1C) == 2  # lit5 lit3 minus
    assert run(0x30, 0x31, 0x1C) == (1 << 64) - 1  # wraps around
    assert run(0x77, 8, registers=(0,) * 7 + (100,)) == 108  # breg7 8
    assert run(0x77, 0x78, registers=(0,) * 7 + (100,)) == 92  # breg7 -8
    assert run(0x0A, 0x00, 0x10, 0x06) == 0x0706050403020100  # const2u 0x1000, deref
    assert run(0x0A, 0x02, 0x10, 0x94, 1) == 2  # deref_size 1
    assert run(0x23, 4, initial=10) == 14  # plus_uconst on the CFA
    assert run(0x31, 0x28, 1, 0, 0x35, 0x36) == 6  # a taken branch skips lit5
    # The rule of x86-64's procedure linkage table: breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus
    table = (0x77, 8, 0x80, 0, 0x3F, 0x1A, 0x3B, 0x2A, 0x33, 0x24, 0x22)
    registers = [0] * 17
    registers[7], registers[16] = 1000, 0x40000B
    assert run(*table, registers=tuple(registers)) == 1016
    registers[16] = 0x400006
    assert run(*table, registers=tuple(registers)) == 1008


def test_expressions_that_cannot_be_evaluated() -> None:
    with pytest.raises(SymbolError, match="register 7"):
        run(0x77, 8, registers=(None,) * 17)
    with pytest.raises(SymbolError, match="0xe0"):
        run(0xE0)
    with pytest.raises(SymbolError, match="does not end"):
        run(0x2F, 0xFD, 0xFF)  # skip -3
    with pytest.raises(UnreadableMemory):
        run(0x31, 0x06)


def test_a_process_that_was_not_read_is_named_whatever_the_reason_says() -> None:
    """A message about another process whose number begins as this one's names that one."""
    failure = Failure(12, "process 123 is its tracer already", "kill 123")
    shown = StackListing(Style()).failure(failure)
    assert shown == "dualdbg: process 12 was not read: process 123 is its tracer already\n  kill 123\n"


def folded(text: str) -> list[tuple[str, int, int]]:
    return [(text[run.start : run.start + run.period], run.period, run.times) for run in runs(text)]


def test_cycles_of_frames_are_found() -> None:
    assert folded("xaaaay") == [("x", 1, 1), ("a", 1, 4), ("y", 1, 1)]
    assert folded("aaab") == [("a", 1, 1), ("a", 1, 1), ("a", 1, 1), ("b", 1, 1)]
    assert folded("x" + "abc" * 5 + "ay") == [("x", 1, 1), ("abc", 3, 5), ("a", 1, 1), ("y", 1, 1)]
    # The one that reaches furthest, though another is shorter.
    assert folded("aaaab" * 7) == [("aaaab", 5, 7)]
    assert folded("ab" * 8) == [("ab", 2, 8)]


@given(
    st.text("ab", min_size=1, max_size=4),
    st.integers(4, 9),
    st.text("abc", max_size=20),
    st.text("abc", max_size=20),
)
def test_nothing_is_lost_in_a_cycle(cycle: str, times: int, before: str, behind: str) -> None:
    text = before + cycle * times + behind
    found = list(runs(text))
    assert "".join(text[run.start : run.start + run.period] * run.times for run in found) == text
    assert all((run.times == 1 and run.period == 1) or run.times > 3 for run in found)
    assert any(run.times > 3 for run in found)


def test_what_is_said_of_a_cycle() -> None:
    frames = [python("f", 1, "/r.py"), python("g", 2, "/r.py")] * 50 + [python("main", 9, "/r.py")]
    text = StackListing(Style()).processes([process(1, thread(1, *frames))])
    assert "  ... the same 2 frames 49 more times\n #100 py   main" in text
    assert text.count("r.py:1") == 1


def test_where_a_fault_was() -> None:
    """The function that faulted, the user's own, and the Python below; without what only passes calls on."""
    strlen = NativeFrame(0, 0x10, "__strlen_avx2", "/usr/lib/libc.so.6", role=Role.PLUMBING)
    passes = NativeFrame(1, 0x20, "ffi_call", "/usr/lib/libffi.so.8")
    own = NativeFrame(2, 0x30, "name_len", "/home/u/bug.so")
    below = python("helper", 2, "/home/u/a.py")
    of_ctypes = thread(1, strlen, passes, below)
    assert where_faulted(of_ctypes) == "__strlen_avx2 (libc.so.6), called in helper (a.py:2)"
    assert where(of_ctypes) == "helper (a.py:2)"
    assert where_faulted(thread(1, strlen, own, below)) == (
        "__strlen_avx2 (libc.so.6), called in name_len (bug.so), called in helper (a.py:2)"
    )
    assert where_faulted(thread(1, own, below)) == "name_len (bug.so), called in helper (a.py:2)"
    nowhere = NativeFrame(0, 0x10)
    assert where_faulted(thread(1, nowhere, own)) == "unknown code at 0x10, called in name_len (bug.so)"
    assert with_fault_shown(of_ctypes).stack.visible()[0].function == "__strlen_avx2"
    assert of_ctypes.stack.visible()[0].function == "ffi_call"
    assert with_fault_shown(thread(1, below)).stack.frames == (below,)


def test_a_place_whose_line_is_not_known_is_its_file() -> None:
    assert place(PythonFrame("total", "/x/ring.py", None)) == "total (ring.py)"
    assert place(PythonFrame("total", "/x/ring.py", 3)) == "total (ring.py:3)"
