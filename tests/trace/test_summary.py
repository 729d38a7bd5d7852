"""What a trace has found at several times and in several manners, as one table; and for how long the program ran."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from dualdbg.console import trace_report
from dualdbg.console.style import Style
from dualdbg.probes import recording
from dualdbg.probes.recording import Shared
from dualdbg.trace import running_time
from dualdbg.trace.collector import Times
from dualdbg.trace.memory import TraceMemory
from dualdbg.trace.running_time import RunningTime
from dualdbg.trace.summary import Caller, Row, Summary, summed

pytestmark = pytest.mark.pure
_CALLER = Caller(None, "main")


def test_a_function_that_was_only_counted_before_has_lost_no_record() -> None:
    """Nor are its calls of then among those that an exception has ended."""
    before = Row("f", "lib.so", 500, seconds=4.0, only_counted=500)
    later = Row(
        *("f", "lib.so", 100, None, 98, Counter({_CALLER: 98})),
        times=Times(100, 0.5, 0.1),
        caller_times={_CALLER: Times(98, 0.4, 0.1)},
        seconds=2.0,
    )
    for rows in ([before, later], [later, before]):
        copies = [Row(**{**vars(row), "callers": row.callers.copy()}) for row in rows]
        summary = Summary(summed(copies), 4.0)
        (row,) = summary.rows
        assert (row.hits, row.records, row.dropped, summary.dropped) == (600, 98, 2, 2)
        assert row.rate == 150.0
        text = trace_report.text(summary, Style(), "", "")
        assert "500 of 600 calls: others came when calls were only counted" in text


def test_the_columns_are_those_of_all_rows() -> None:
    """Where some functions are timed and others are not."""
    timed = Row("timed", None, 9, None, 9, Counter({_CALLER: 9}), times=Times(9, 1.0, 0.5), seconds=1.0)
    timed.caller_times[_CALLER] = Times(9, 1.0, 0.5)
    plain = Row("plain", None, 99, None, 99, Counter({_CALLER: 99}), seconds=1.0)
    for rows in ((timed, plain), (plain, timed)):
        lines = trace_report.text(Summary(rows, 1.0), Style(), "", "").splitlines()
        head = next(line for line in lines if line.endswith("function"))
        names = [line for line in lines if line.endswith(("  timed", "  plain"))]
        assert {line.index(line.split()[-1]) for line in names} == {head.index("function")}


def test_the_time_is_that_in_which_the_program_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(running_time.time, "monotonic", lambda: now)
    watch = RunningTime(runs=False)
    for step, do in ((5, watch.run), (1, watch.run), (2, watch.stand), (7, watch.stand), (3, watch.run)):
        now += step
        do()
    now += 4  # 3 from 105 to 108, and 4 from 118 on
    assert [watch.since(moment) for moment in (0.0, 106.0, 110.0, 120.0, 122.0)] == [7, 6, 4, 2, 0]
    watch.end()
    now += 9
    watch.run()
    now += 9
    assert watch.since(0.0) == 7


@pytest.fixture
def memory(tmp_path: Path) -> TraceMemory:
    shared = Shared.for_records(2)
    (tmp_path / "memory").touch()
    os.truncate(tmp_path / "memory", shared.size)
    return TraceMemory(str(tmp_path / "memory"), shared, 0)


def test_rings_that_are_given_back_take_no_more(memory: TraceMemory) -> None:
    """For the machine code they are full; the counters count on."""
    words, shared = memory._words, memory.shared
    probe = memory.new_probe()
    words[shared.counter(probe) // 8] = 41
    for ring, head in ((0, 3), (1, 2 * shared.capacity)):
        words[(shared.control(ring) + recording.HEAD) // 8] = head
        words[shared.records(ring) // 8] = 77
    memory.end_records()
    for ring in range(2):
        head, tail = (words[(shared.control(ring) + one) // 8] for one in (recording.HEAD, recording.TAIL))
        assert (head - tail) % (1 << 64) >= shared.capacity
        assert words[shared.records(ring) // 8] == 0
    assert list(memory.take()) == []
    words[shared.counter(probe) // 8] += 1
    assert memory.hits(probe) == 42
    memory.close()
    assert memory.hits(probe) == 42
