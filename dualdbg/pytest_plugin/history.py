"""The plugin where an earlier process has died: all others hear what was done there, and the rest is run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from . import page
from .crash_report import keywords_of, test_reports
from .records import Record

if TYPE_CHECKING:
    from .tests_process import TestsProcess


class History:
    """``entries`` of the journal: tuples and texts are reports, a number is that of the record of an end."""

    def __init__(
        self, config: pytest.Config, process: TestsProcess, entries: list[Any], records: Sequence[Record]
    ) -> None:
        self._config = config
        self._process = process
        self._entries = [json.loads(entry) if isinstance(entry, str) else entry for entry in entries]
        self._records = {record.number: record for record in records}
        self._items: dict[str, pytest.Item] = {}
        self._mute: _Mute | None = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self) -> Generator[None, object, object]:
        """Say nothing of what the first process has said."""
        self._mute = _Mute(self._config)
        result = yield
        if all(record.phase == page.COLLECTING for record in self._records.values()):
            self._speak()  # no test was run yet, and none is on the screen
        return result

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """What has been run before is not run again. pytest has counted all tests by now."""
        if session.config.option.collectonly:
            self._speak()
            return (yield)
        self._items = {item.nodeid: item for item in session.items}
        done = self._done()
        rest = []
        for item in session.items:
            if done[item.nodeid]:
                done[item.nodeid] -= 1
            else:
                rest.append(item)
        session.items[:] = rest
        result = yield
        self._replay(session)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Before the first test that is left, all plugins hear of those that have been run."""
        if self._entries:
            self._replay(item.session)
        return (yield)

    def _replay(self, session: pytest.Session) -> None:
        entries, self._entries = self._entries, []
        hook = self._config.hook
        journal, self._process.journal = self._process.journal, None  # it has all this
        begun: set[str] = set()
        for at, entry in enumerate(entries):
            record = self._records[entry] if isinstance(entry, int) else None
            if record is not None and record.phase == page.COLLECTING:
                continue
            for report in self._reports(entry, begun):
                if report.nodeid not in begun:
                    begun.add(report.nodeid)
                    hook.pytest_runtest_logstart(nodeid=report.nodeid, location=report.location)
                if at == len(entries) - 1:  # the end that made this process necessary
                    self._speak()
                hook.pytest_runtest_logreport(report=report)
                if report.when == "teardown":
                    begun.discard(report.nodeid)
                    hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)
            if record is not None:
                self._process.annotate(record)
        self._speak()
        self._process.journal = journal
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)

    def _reports(self, entry: Any, begun: set[str]) -> list[pytest.TestReport]:
        if isinstance(entry, int):
            record = self._records[entry]
            return test_reports(record, self._items.get(record.what), begun)
        if isinstance(entry, dict):
            report = self._config.hook.pytest_report_from_serializable(config=self._config, data=entry)
            assert isinstance(report, pytest.TestReport)
            return [_with_tuples(report)]
        nodeid, when, duration, start, stop = entry
        item = self._items.get(nodeid)
        location = item.location if item is not None else (nodeid.split("::")[0], None, nodeid)
        keywords = keywords_of(item)
        return [
            pytest.TestReport(nodeid, location, keywords, "passed", None, when, (), duration, start, stop)
        ]

    def _done(self) -> Counter[str]:
        """How often each test has been run."""
        phases = [
            (entry["nodeid"], entry["when"]) if isinstance(entry, dict) else entry[:2]
            for entry in self._entries
            if not isinstance(entry, int)
        ]
        ended = Counter(nodeid for nodeid, when in phases if when == "teardown")
        for number in self._entries:
            if isinstance(number, int):
                record = self._records[number]
                # What ended behind its own teardown is counted above.
                if record.phase != page.COLLECTING and (record.what, "teardown") not in phases:
                    ended[record.what] += 1
        return ended

    def _speak(self) -> None:
        if self._mute is not None:
            self._mute.end()
            self._mute = None


def _with_tuples(report: pytest.TestReport) -> pytest.TestReport:
    """JSON has made lists of them."""
    if isinstance(report.longrepr, list):
        report.longrepr = tuple(report.longrepr)
    file, line, name = report.location
    report.location = file, line, name
    report.sections = [(name, text) for name, text in report.sections]
    report.user_properties = [(name, value) for name, value in report.user_properties]
    return report


class _Mute:
    """Keeps pytest's reporter from writing, while it hears what it has said in an earlier process."""

    def __init__(self, config: pytest.Config) -> None:
        self._writer: Any = None
        if config.pluginmanager.has_plugin("terminalreporter"):
            self._writer = config.get_terminal_writer()
            self._file = self._writer._file  # no public way leads to it
            self._writer._file = StringIO()

    def end(self) -> None:
        if self._writer is not None:
            self._writer._file = self._file
