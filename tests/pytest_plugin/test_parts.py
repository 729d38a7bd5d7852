"""The parts between the two processes: the page, the journal, and what GitHub is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dualdbg.plugins.pytest_plugin import page
from dualdbg.plugins.pytest_plugin.annotations import annotation
from dualdbg.plugins.pytest_plugin.journal import Journal
from dualdbg.plugins.pytest_plugin.records import Record, read_all


def test_a_page_says_what_is_done(tmp_path: Path) -> None:
    assert page.read(tmp_path, os.getpid()) is None
    mine = page.Page(tmp_path)
    mine.begin(page.SETUP, "test_it.py::test_ä", 12.5)
    assert page.read(tmp_path, os.getpid()) == page.Doing(page.SETUP, "test_it.py::test_ä", 12.5)
    mine.phase(page.CALL)
    mine.rest()
    assert page.read(tmp_path, os.getpid()) == page.Doing(page.CALL, "test_it.py::test_ä", 0.0)
    mine.begin(page.SETUP, "x" * 10_000, 1.0)
    found = page.read(tmp_path, os.getpid())
    assert found is not None and found.what == "x" * len(found.what) and len(found.what) > 4000
    page.count_child(tmp_path, os.getpid())
    assert mine.incidents() == 1


def test_a_page_is_whole_from_the_moment_that_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    truncate = os.ftruncate

    def look_before(descriptor: int, size: int) -> None:
        seen.append(page.read(tmp_path, os.getpid()))
        truncate(descriptor, size)

    monkeypatch.setattr(os, "ftruncate", look_before)
    page.Page(tmp_path)
    assert seen == [None]
    assert page.read(tmp_path, os.getpid()) == page.Doing(page.STARTING, "", 0.0)


def test_a_journal_is_read_by_the_next_process(tmp_path: Path) -> None:
    first = Journal(tmp_path)
    assert first.entries == []
    entries: list[int | list[object]] = [["a", "call", 0.5, 1.0, 1.5], 7, [b"{}", "x" * 3_000_000], []]
    for entry in entries:
        first.add(entry)
    # It is read as a process leaves it that has not closed it.
    second = Journal(tmp_path)
    assert second.entries == entries
    second.add(8)
    assert Journal(tmp_path).entries == [*entries, 8]


def test_an_entry_that_was_being_written_is_none(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add([1, "one"])
    whole = (tmp_path / "journal").read_bytes().rstrip(b"\0")
    journal.add([2, "two"])
    data = bytearray((tmp_path / "journal").read_bytes())
    data[len(whole) : len(whole) + 4] = bytes(4)  # its length, which comes last
    (tmp_path / "journal").write_bytes(data)
    again = Journal(tmp_path)
    assert again.entries == [[1, "one"]]
    again.add([3])
    assert Journal(tmp_path).entries == [[1, "one"], [3]]


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    records = [
        Record(number, 1, 2, "t", page.CALL, "s", "text\n", output=[["stdout", "\udcff"]])
        for number in (2, 1)
    ]
    for record in records:
        record.write(tmp_path)
    assert read_all(tmp_path) == records[::-1]


def test_nothing_that_a_test_says_begins_a_command_of_github() -> None:
    record = Record(
        1, 1, 1, "t.py::t[a,b:c]", page.CALL, "50%\r\n::stop-commands::x", "", file="/w/a,b.py", line=3
    )
    line = annotation(record, "/w")
    assert line == (
        "::error file=a%2Cb.py,line=3,title=t.py%3A%3At[a%2Cb%3Ac] crashed or hung::50%25%0D%0A::stop-commands::x"
    )
