"""The file for Perfetto: events with a duration lie within each other, whatever the records are."""

from __future__ import annotations

import io
import json
import random
from array import array
from typing import Any

import pytest

from dualdbg.probes import durations, recording
from dualdbg.trace import chrome_events
from dualdbg.trace.thread_names import ThreadNames


def _spool(rows: list[tuple[int, int, int, int]]) -> io.BytesIO:
    """Records of returns: thread, probe, when it began, how long it took."""
    words = array("Q")
    for tid, probe, began, lasted in rows:
        record = [0] * recording.WORDS
        record[recording.THREAD] = probe << 32 | tid
        record[recording.TIME], record[durations.DURATION] = began, lasted
        words.extend(record)
    return io.BytesIO(words.tobytes())


def _written(rows: list[tuple[int, int, int, int]], units: float) -> list[dict[str, Any]]:
    to = io.StringIO()
    names = ThreadNames(lambda: 1, "program", {7: "worker"})
    count = chrome_events.write(
        _spool(rows),
        to,
        names,
        lambda source: (1000, units),
        lambda source, probe: (f"p{probe}", (), True),
        {},
    )
    assert count == len(rows)
    found: list[dict[str, Any]] = json.loads(to.getvalue())["traceEvents"]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_events_with_a_duration_lie_within_each_other(seed: int) -> None:
    """Whatever the calls are; the others are pairs. None is lost, and none has another time."""
    chance = random.Random(seed)
    rows = [
        (chance.choice((7, 8)), 3, 1000 + chance.randrange(400), chance.randrange(100)) for _ in range(200)
    ]
    rows += [(9, 3, 5000 + 10 * at, 10 * (50 - at)) for at in range(50)]  # these do
    found = _written(rows, 1e9)
    events = [one for one in found if one["ph"] == "X"]
    for tid in (7, 8, 9):
        mine = [
            (round(one["ts"] * 1e3), round((one["ts"] + one["dur"]) * 1e3))
            for one in events
            if one["tid"] == tid
        ]
        for begins, ends in mine:
            assert not any(begins < first < ends < last for first, last in mine)
    assert sum(one["tid"] == 9 for one in events) == 50
    pairs: dict[int, dict[str, dict[str, Any]]] = {}
    for one in found:
        if one["ph"] in "be":
            pairs.setdefault(one["id"], {})[one["ph"]] = one
    told = [(one["tid"], one["ts"], one["dur"]) for one in events]
    told += [(one["b"]["tid"], one["b"]["ts"], one["e"]["ts"] - one["b"]["ts"]) for one in pairs.values()]
    exact = sorted((tid, began - 1000, lasted) for tid, _, began, lasted in rows)
    assert sorted((tid, round(ts * 1e3), round(dur * 1e3)) for tid, ts, dur in told) == exact


def test_threads_have_their_names() -> None:
    found = _written([(7, 3, 2000, 5), (8, 3, 2000, 5)], 1e9)
    assert [one for one in found if one["ph"] == "M"] == [
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "program"}},
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": 7, "args": {"name": "worker"}},
    ]
