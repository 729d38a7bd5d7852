"""``--perfetto``: the file opens in Perfetto's own viewer, with every event of it, its names and its times."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import perfetto
from tests import support
from tests.trace import test_counts
from tests.trace.test_counts import result, run
from tests.trace.test_records import library

__all__ = ["library"]

_SCRIPT = """\
import ctypes, threading
library = ctypes.CDLL({library!r})
def once(number): return library.twice(number)
def slowly(numbers):
    for number in numbers: yield once(number)
def both(count):
    one, other = slowly(range(count)), slowly(range(count))
    next(one), next(other)
    list(one), list(other)
def worker():
    for number in range(100): once(number)
for number in range(300): once(number)
for _ in range(20): both(5)
thread = threading.Thread(target=worker)
thread.start()
thread.join()
"""
_HITS = {"twice": 600, "once": 600, "slowly": 40}


pytestmark = [*test_counts.pytestmark, pytest.mark.slow]


@pytest.mark.parametrize("how", ["--time", "--json"])
def test_perfetto_shows_each_event(library: Path, tmp_path: Path, how: str) -> None:
    """Python functions around native ones, generators that overlap, a thread: all of them, and none elsewhere."""
    why_not = perfetto.why_not()
    support.require(why_not is None, f"no viewer: {why_not}", outside=True)
    script, events = tmp_path / "script.py", tmp_path / "events.json"
    script.write_text(_SCRIPT.format(library=str(library)))
    specs = [word for name in ("twice", "py:once", "py:slowly") for word in ("-b", name)]
    found = result(run(*dict.fromkeys([how, "--json"]), "--perfetto", events, *specs, script))
    assert {name: found[name]["hits"] for name in _HITS} == _HITS
    with perfetto.viewer(events) as viewer:
        trouble = viewer.rows(
            "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
        )
        shown = viewer.rows("select name, count(*), sum(dur) from slice group by name")
        threads = viewer.rows("select count(distinct tid) from thread where name glob 'python*'")
        lines = viewer.rows("select distinct string_value from args where key = 'args.python'")
    assert trouble == []
    assert {name: count for name, count, _ in shown} == _HITS
    assert {f"{script}:{line}" for line in ("3 in once", "5 in slowly", "8 in both")} <= {
        line for (line,) in lines
    }
    assert threads[0][0] >= 1  # one that ends at once has no name
    for name, count, nanoseconds in shown if how == "--time" else ():
        assert nanoseconds / 1e9 == pytest.approx(found[name]["time"], rel=1e-3, abs=1e-8 * count)
