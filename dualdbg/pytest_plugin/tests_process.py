"""The plugin in a process that runs tests: it says what is done, and goes on where an earlier process has died."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Generator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from . import page
from .annotations import annotation
from .crash_report import collect_report, describe, keywords_of, test_reports
from .records import JOURNAL, MOVED_FROM, Record, read_all
from .supervisor import Started

# What a report has that says nothing beyond these: it is written down in short.
_PLAIN = frozenset(pytest.TestReport("", ("", None, ""), {}, "passed", None, "call").__dict__)
_quoted = json.encoder.encode_basestring_ascii


class TestsProcess:
    """Hooks of a process that runs tests: the first one, one that goes on, or a worker of pytest-xdist."""

    __test__ = False  # its name begins as that of a test does

    def __init__(self, config: pytest.Config, started: Started) -> None:
        self._config = config
        self._folder = started.folder
        self._is_traced = started.is_traced
        self._pid = os.getpid()
        self._page = page.Page(started.folder)
        self._children_told = 0
        self._journal: int | None = None
        self._waiting = ""  # for the journal: it is written when a test has been called
        self._history = _history(started.folder)
        self._records = {record.number: record for record in read_all(started.folder)}
        self._annotations: list[str] = []
        self._told: set[int] = set()
        self._items: dict[str, pytest.Item] = {}
        self._session: pytest.Session | None = None

    # -- the beginning -----------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """By now all plugins are there."""
        if hasattr(config, "workerinput"):
            return
        if config.pluginmanager.has_plugin("dsession"):
            (self._folder / "no-journal").touch(0o600)  # the workers run the tests, and xdist starts new ones
            return
        self._journal = os.open(
            self._folder / JOURNAL, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Generator[None, object, object]:
        """A process that goes on says nothing of what the first one has said."""
        self._session = session
        if self._is_traced:
            import faulthandler

            faulthandler.disable()  # the tracer sees more, and sees it first
        self._mute = _Mute(self._config if self._history else None)
        result = yield
        if all(record.phase == page.COLLECTING for record in self._records.values()):
            self._mute.end()  # that no tests were run yet is seen on the screen
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """A module that ended the process when it was imported is not imported again."""
        if self._is_other():
            return None
        self._page.begin(page.COLLECTING, collector.nodeid, time.monotonic())
        for record in self._records.values():
            if record.phase == page.COLLECTING and record.what == collector.nodeid and not record.is_child:
                self._annotate(record)
                return collect_report(record)
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """No test runs yet."""
        self._page.begin(page.STARTING, "", 0.0)

    # -- where an earlier process has died ---------------------------------------------------------

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """What has been run before is not run again. pytest has counted all tests by now."""
        if self._history and not session.config.option.collectonly:
            self._items = {item.nodeid: item for item in session.items}
            done = _done(self._history, self._records)
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
        if self._history:
            self._replay(item.session)
        return (yield)

    def _replay(self, session: pytest.Session) -> None:
        history, self._history = self._history, []
        if not history:
            return
        hook = self._config.hook
        journal, self._journal = self._journal, None
        started: set[str] = set()
        for entry in history:
            record = self._records[entry[MOVED_FROM]] if _is_incident(entry) else None
            if record is not None and record.phase == page.COLLECTING:
                continue
            reports = (
                [self._report(entry)]
                if record is None
                else test_reports(record, self._items.get(record.what), started)
            )
            for report in reports:
                if report.nodeid not in started:
                    started.add(report.nodeid)
                    hook.pytest_runtest_logstart(nodeid=report.nodeid, location=report.location)
                if record is not None and record is self._last_record(history):
                    self._mute.end()
                hook.pytest_runtest_logreport(report=report)
                if report.when == "teardown":
                    started.discard(report.nodeid)
                    hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)
            if record is not None:
                self._annotate(record)
        self._mute.end()
        self._journal = journal
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)

    def _last_record(self, history: list[Any]) -> Record | None:
        last = history[-1]
        return self._records[last[MOVED_FROM]] if _is_incident(last) else None

    def _report(self, entry: Any) -> pytest.TestReport:
        if isinstance(entry, dict):
            report = self._config.hook.pytest_report_from_serializable(config=self._config, data=entry)
            assert isinstance(report, pytest.TestReport)
            return _with_tuples(report)
        nodeid, when, duration, start, stop = entry
        item = self._items.get(nodeid)
        location = item.location if item is not None else (nodeid.split("::")[0], None, nodeid)
        return pytest.TestReport(
            nodeid, location, keywords_of(item), "passed", None, when, (), duration, start, stop
        )

    # -- what is done ------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins. The controller of pytest-xdist hears of the tests of its workers too, but runs none."""
        if (self._journal is not None or self._is_worker()) and not self._is_other():
            self._page.begin(page.SETUP, nodeid, time.monotonic())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Its first phase."""
        if not self._is_other():
            self._page.phase(page.SETUP)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        """Its second one."""
        if not self._is_other():
            self._page.phase(page.CALL)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self) -> None:
        """Its third one."""
        if not self._is_other():
            self._page.phase(page.TEARDOWN)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self) -> None:
        """It is over; what crashes before the next one begins is still its own."""
        if not self._is_other():
            self._page.rest()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Say what children have crashed, and write the report down."""
        if self._page.incidents() != self._children_told:
            self._tell_of_children(report)
        if self._journal is None or self._is_other():
            return
        if _says_little(report):
            self._waiting += (
                f"[{_quoted(report.nodeid)}, {_quoted(report.when)}, {report.duration!r}, "
                f"{report.start!r}, {report.stop!r}]\n"
            )
            if report.when != "setup":
                self._write()
            return
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._waiting += json.dumps(data, default=str) + "\n"
        self._write()

    def _write(self) -> None:
        assert self._journal is not None
        os.write(self._journal, self._waiting.encode())
        self._waiting = ""

    def _tell_of_children(self, report: pytest.TestReport) -> None:
        self._children_told = self._page.incidents()
        for record in read_all(self._folder):
            if record.is_child and record.owner == self._pid and record.number not in self._told:
                self._told.add(record.number)
                report.sections.append((f"dualdbg: process {record.pid}", record.text))

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """pytest-xdist tells of a worker that died at a test; here it is told why."""
        for record in read_all(self._folder):
            if record.what == crashitem and not record.is_child and record.number not in self._told:
                self._told.add(record.number)
                describe(report, record)
                file, _, name = crashitem.partition("::")
                report.location = (file, record.line and record.line - 1, name.replace("::", "."))
                self._annotate(record)
                return

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """No test runs any more."""
        self._page.begin(page.FINISHING, "", 0.0)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """What GitHub is to show beside the tests."""
        for line in self._annotations:
            terminalreporter.write_line(line)

    def _annotate(self, record: Record) -> None:
        if os.environ.get("GITHUB_ACTIONS") == "true":
            self._annotations.append(annotation(record, os.environ.get("GITHUB_WORKSPACE", "")))

    def _is_worker(self) -> bool:
        return hasattr(self._config, "workerinput")

    def _is_other(self) -> bool:
        """Whether this is a process that a test has forked, which goes on as pytest."""
        return os.getpid() != self._pid


def _says_little(report: pytest.TestReport) -> bool:
    """Whether a few words are enough to make the report again."""
    more = report.outcome != "passed" or report.sections or report.user_properties or report.longrepr
    return not more and report.__dict__.keys() == _PLAIN


def _history(folder: Path) -> list[Any]:
    """What the journal says, line by line. A process that died while it wrote has left a piece of a line."""
    try:
        lines = (folder / JOURNAL).read_text("utf-8").split("\n")
    except FileNotFoundError:
        return []
    entries = []
    for line in lines:
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries


def _with_tuples(report: pytest.TestReport) -> pytest.TestReport:
    """JSON has made lists of them."""
    if isinstance(report.longrepr, list):
        report.longrepr = tuple(report.longrepr)
    file, line, name = report.location
    report.location = file, line, name
    report.sections = [(name, text) for name, text in report.sections]
    report.user_properties = [(name, value) for name, value in report.user_properties]
    return report


def _is_incident(entry: Any) -> bool:
    return isinstance(entry, dict) and MOVED_FROM in entry


def _done(history: list[Any], records: dict[int, Record]) -> Counter[str]:
    """How often each test has been run."""
    ended: Counter[str] = Counter()
    for entry in history:
        if _is_incident(entry):
            record = records[entry[MOVED_FROM]]
            if record.phase != page.TEARDOWN:
                ended[record.what] += record.phase != page.COLLECTING
            elif not _has_teardown(history, record.what):
                ended[record.what] += 1
        else:
            nodeid, when = (entry["nodeid"], entry["when"]) if isinstance(entry, dict) else entry[:2]
            ended[nodeid] += when == "teardown"
    return ended


def _has_teardown(history: list[Any], nodeid: str) -> bool:
    return any(
        (entry.get("nodeid"), entry.get("when")) == (nodeid, "teardown")
        if isinstance(entry, dict)
        else entry[:2] == [nodeid, "teardown"]
        for entry in history
    )


class _Mute:
    """Keeps pytest's reporter from writing, while it hears what it has said in an earlier process."""

    def __init__(self, config: pytest.Config | None) -> None:
        self._writer: Any = None
        if config is not None and config.pluginmanager.has_plugin("terminalreporter"):
            self._writer = config.get_terminal_writer()
            self._file = self._writer._file  # no public way leads to it
            self._writer._file = StringIO()

    def end(self) -> None:
        if self._writer is not None:
            self._writer._file = self._file
            self._writer = None
