"""Which rows of a test's tables `make test` runs: enough that each value of each table is met."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from dualdbg.shared import python_versions
from tests import support

OURS = f"{sys.version_info[0]}.{sys.version_info[1]}"


def versions() -> list[Any]:
    """A row for each known version of Python, for whole sessions: the oldest and the three newest always run.

    What depends on a version, layouts and byte code, has tests of its own, which run for every version. All other
    tests run ours, which has a row here where the oldest is not installed.
    """
    some = {python_versions.NAMES[0], *python_versions.NAMES[-3:]}
    if support.find_interpreter(python_versions.NAMES[0]) is None:
        some.add(OURS)
    marks = {name: () if name in some else (pytest.mark.exhaustive,) for name in python_versions.NAMES}
    return [pytest.param(name, marks=marks[name]) for name in python_versions.NAMES]


def some(table: Iterable[Any], count: int) -> list[Any]:
    """The rows of a table whose first ``count`` stand for all in `make test`; put there what differs in kind."""
    found = []
    for number, row in enumerate(table):
        values = row if isinstance(row, tuple) else (row,)
        found.append(pytest.param(*values, marks=() if number < count else pytest.mark.exhaustive))
    return found


def beyond_cover(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The rows that need not run, of tests that start processes and multiply one table by another.

    Ten signals in three front ends are thirty processes. What goes wrong goes wrong for a signal or for a front end,
    nearly always: ten rows meet them all. A test that needs all pairs says so by the mark `every_row`.
    """
    tests: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        needs_all = item.get_closest_marker("pure") or item.get_closest_marker("every_row")
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and not needs_all:
            tests[item.nodeid.partition("[")[0]].append(item)
    left_out: set[pytest.Item] = set()
    for rows in tests.values():
        # One name for each table of the test, in pytest's order; no public way leads to them.
        kept = set(cover([tuple(item.callspec._idlist) for item in rows]))
        left_out.update(item for number, item in enumerate(rows) if number not in kept)
    return left_out


def beyond_first(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The rows of tests but for the first of each that starts processes: what `make check` need not run."""
    seen: set[str] = set()
    found = []
    for item in items:
        name = item.nodeid.partition("[")[0]
        if name in seen and item.get_closest_marker("pure") is None:
            found.append(item)
        seen.add(name)
    return found


def cover(rows: Sequence[tuple[str, ...]]) -> list[int]:
    """The numbers of few rows that have together every value of every column; the same for the same rows."""
    wanted = {(column, value) for row in rows for column, value in enumerate(row)}
    found: list[int] = []
    while wanted:
        best = max(range(len(rows)), key=lambda number: len(wanted & set(enumerate(rows[number]))))
        wanted -= set(enumerate(rows[best]))
        found.append(best)
    return found
