"""Of tables that are multiplied `make test` runs few rows, and each value of each table is among them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualdbg.shared import python_versions
from tests import rows, support
from tests.harness.test_harness import run_test


@given(st.sets(st.tuples(*[st.sampled_from("abcdef")] * 3), min_size=1).map(sorted))
def test_every_value_is_met(table: list[tuple[str, ...]]) -> None:
    found = [table[number] for number in rows.cover(table)]
    for column in range(3):
        assert {row[column] for row in found} == {row[column] for row in table}
    assert len(set(found)) == len(found)


def test_a_product_takes_as_many_rows_as_its_longest_table() -> None:
    assert len(rows.cover(list(itertools.product("abcdefghij", "xyz", "12")))) == 10


def test_one_table_has_all_its_rows() -> None:
    assert len(rows.cover([(letter,) for letter in "abcdefghij"])) == 10


@pytest.mark.parametrize("is_there", [True, False])
def test_the_oldest_and_the_newest_versions_always_run(
    is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(support, "find_interpreter", lambda version: Path(version) if is_there else None)
    always = {row.values[0] for row in rows.versions() if not row.marks}
    ours = set() if is_there else {rows.OURS}
    assert always == {python_versions.NAMES[0], *python_versions.NAMES[-3:], *ours}


PRODUCT = """
@pytest.mark.parametrize("one", "abc")
@pytest.mark.parametrize("other", "xy")
{mark}
def test_it(one, other):
    {body}
"""


def test_what_takes_part(tmp_path: Path) -> None:
    started = "subprocess.run(['true'])"
    for mark, body, passed in (
        ("@pytest.mark.processes", started, "3 passed, 3 deselected"),
        ("@pytest.mark.processes\n@pytest.mark.every_row", started, "6 passed"),
        ("", "pass", "6 passed"),
    ):
        status, output = run_test(tmp_path, PRODUCT.format(mark=mark, body=body))
        assert status == 0 and passed in output, output


def test_the_first_rows_of_a_table_stand_for_all() -> None:
    found = rows.some([("a", 1), ("b", 2), ("c", 3)], 2)
    assert [row.values for row in found] == [("a", 1), ("b", 2), ("c", 3)]
    assert [[mark.name for mark in row.marks] for row in found] == [[], [], ["exhaustive"]]
    assert [row.values for row in rows.some("ab", 1)] == [("a",), ("b",)]
