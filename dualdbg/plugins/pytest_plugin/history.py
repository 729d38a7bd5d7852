"""The plugin where an earlier process has died: all others hear what was done there, and the rest is run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from . import page
from .crash_report import keywords_of, test_reports, torn_down
from .records import Record

if TYPE_CHECKING:
    from .tests_process import TestsProcess


class History:
    """``entries`` of the journal: a list has reports, in short or as JSON, a number is that of the record of an end.

    The teardown of the last test before an end may be missing: it is written down with the next call.
    """

    def __init__(
        self, config: pytest.Config, process: TestsProcess, entries: list[Any], records: Sequence[Record]
    ) -> None:
        self._config = config
        self._process = process
        self._entries = [one for entry in entries for one in _taken_apart(entry)]
        self._records = {record.number: record for record in records}
        self._items: dict[str, pytest.Item] = {}
        self._mute: _Mute | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Say nothing of what the first process has said."""
        self._mute = _Mute(self._config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectstart(self) -> None:
        """pytest has said that it collects, as it did in the first process."""
        if all(record.phase == page.COLLECTING for record in self._records.values()):
            self._speak()  # no test was run yet, and none is on the screen

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
        open_test: pytest.TestReport | None = None
        for at, entry in enumerate(entries):
            record = self._records[entry] if isinstance(entry, int) else None
            if record is not None and record.phase == page.COLLECTING:
                continue
            for report in self._reports(entry, open_test):
                if open_test is not None and open_test.nodeid != report.nodeid:
                    self._finish(torn_down(open_test))
                    open_test = None
                if open_test is None:
                    hook.pytest_runtest_logstart(nodeid=report.nodeid, location=report.location)
                if at == len(entries) - 1:  # the end that made this process necessary
                    self._speak()
                if report.when == "teardown":
                    self._finish(report)
                    open_test = None
                else:
                    hook.pytest_runtest_logreport(report=report)
                    open_test = report
            if record is not None:
                self._process.annotate(record)
        self._speak()
        self._process.journal = journal
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)

    def _finish(self, teardown: pytest.TestReport) -> None:
        hook = self._config.hook
        hook.pytest_runtest_logreport(report=teardown)
        hook.pytest_runtest_logfinish(nodeid=teardown.nodeid, location=teardown.location)

    def _reports(self, entry: Any, open_test: pytest.TestReport | None) -> list[pytest.TestReport]:
        if isinstance(entry, int):
            record = self._records[entry]
            has_begun = open_test is not None and open_test.nodeid == record.what
            return test_reports(record, self._items.get(record.what), has_begun)
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
        """How often each test has been run. Each time its setup is reported, or else its end."""
        runs: Counter[str] = Counter()
        last = None
        for entry in self._entries:
            if isinstance(entry, int):
                record = self._records[entry]
                if record.phase != page.COLLECTING and record.what != last:
                    runs[record.what] += 1
                last = None
                continue
            nodeid, when = (entry["nodeid"], entry["when"]) if isinstance(entry, dict) else entry[:2]
            if when == "setup":
                runs[nodeid] += 1
                last = nodeid
        return runs

    def _speak(self) -> None:
        if self._mute is not None:
            self._mute.end()
            self._mute = None


def _taken_apart(entry: Any) -> list[Any]:
    """A number, or reports: five values of one, or one as JSON."""
    if isinstance(entry, int):
        return [entry]
    found: list[Any] = []
    at = 0
    while at < len(entry):
        if isinstance(entry[at], bytes):
            found.append(json.loads(entry[at]))
            at += 1
        else:
            found.append(entry[at : at + 5])
            at += 5
    return found


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
