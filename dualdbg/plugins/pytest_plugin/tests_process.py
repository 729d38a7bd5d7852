"""The plugin in a process that runs tests: it says what is done, and what has come of it."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from typing import Any

import pytest

from ...system.patience import patient
from . import page
from .annotations import annotation
from .crash_report import collect_report, describe, in_words, tell_of_child
from .journal import Journal
from .records import Record, read_all
from .supervisor import Started

# As many attributes has a report that says no more than its names, times and outcome.
_FEW = len(pytest.TestReport("", ("", None, ""), {}, "passed", None, "call").__dict__)
_TO_TELL = patient(10.0)  # seconds
_LOOK_AGAIN = 0.02
_NEXT = {"setup": page.CALL, "call": page.TEARDOWN, "teardown": page.TEARDOWN, "???": page.TEARDOWN}


class TestsProcess:
    """Hooks of a process that runs tests: the first one, one that goes on, or a worker of pytest-xdist."""

    __test__ = False  # its name begins as that of a test does

    def __init__(self, config: pytest.Config, started: Started) -> None:
        self._config = config
        self._folder = started.folder
        self._is_traced = started.is_traced
        self._page = page.Page(started.folder)
        self._bytes = self._page.bytes
        self._children_told = 0
        self._told: set[int] = set()
        self._annotates = os.environ.get("GITHUB_ACTIONS") == "true"
        self._annotations: list[str] = []
        self._annotated: set[int] = set()  # children
        self._records = [record for record in read_all(started.folder) if not record.is_child]
        self.journal: Journal | None = None
        self._waiting: list[Any] = []  # for the journal
        self._runs_tests = True
        self._pid = os.getpid()
        os.register_at_fork(after_in_child=self._be_another)

    def _be_another(self) -> None:
        """A test has forked this process, which may go on as pytest: what it does is nothing of ours."""
        self._runs_tests, self.journal = False, None

    # -- the beginning -----------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """By now all plugins are there."""
        if hasattr(config, "workerinput"):
            config.pluginmanager.register(_Pauses(self._page), "dualdbg-pauses")
        elif config.pluginmanager.has_plugin("dsession"):
            self._runs_tests = False  # the workers do, and xdist starts new ones
            (self._folder / "no-journal").touch(0o600)
        else:
            self.journal = Journal(self._folder)
            if self.journal.entries:
                from .history import History

                history = History(config, self, self.journal.entries, self._records)
                config.pluginmanager.register(history, "dualdbg-history")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """The tracer sees more than faulthandler, and sees it first."""
        if self._is_traced:
            import faulthandler

            faulthandler.disable()

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """A module that ended the process when it was imported is not imported again."""
        if os.getpid() != self._pid:
            return None
        self._page.begin(page.COLLECTING, collector.nodeid, time.monotonic())
        for record in self._records:
            if record.phase == page.COLLECTING and record.what == collector.nodeid:
                self.annotate(record)
                return collect_report(record)
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """No test runs yet."""
        self._page.begin(page.STARTING, "", 0.0)

    # -- what is done ------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins. The controller of pytest-xdist hears of the tests of its workers too."""
        if self._runs_tests:
            self._page.begin(page.SETUP, nodeid, time.monotonic())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A phase is over. This is run three times for each test, so what is usual comes first, and is short."""
        when = report.when
        there = self._bytes
        there[page.PHASE] = _NEXT[when]
        if there[page.CHILDREN] != self._children_told:
            self._tell_of_children(report)
        if report.outcome == "failed" and self._annotates:
            self._annotate_children(report)
        if self.journal is None:
            return
        waiting = self._waiting
        if (
            report.outcome != "passed"
            or report.sections
            or report.user_properties
            or len(report.__dict__) != _FEW
        ):
            data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
            waiting.append(json.dumps(data, default=str).encode())
        else:
            waiting += report.nodeid, when, report.duration, report.start, report.stop
            if when != "call":  # the next call writes it down, too
                return
        self.journal.add(waiting)
        waiting.clear()

    def _tell_of_children(self, report: pytest.TestReport) -> None:
        self._children_told = self._page.incidents()
        for record in read_all(self._folder):
            if record.is_child and record.owner == self._pid and record.number not in self._told:
                self._told.add(record.number)
                tell_of_child(report, record)

    def _annotate_children(self, report: pytest.TestReport) -> None:
        """The test may have run in a worker, or in a process that is no more."""
        for record in read_all(self._folder):
            if record.is_child and record.what == report.nodeid and record.number not in self._annotated:
                self._annotated.add(record.number)
                self.annotate(_at_failure(record, report))

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """pytest-xdist tells of a worker that died at a test; here it is told why.

        It has seen the end of a pipe, which comes before the supervisor has written down what it knows.
        """
        deadline = time.monotonic() + _TO_TELL
        while (
            self._is_traced and not page.end_is_told(self._folder, crashitem) and time.monotonic() < deadline
        ):
            time.sleep(_LOOK_AGAIN)
        for record in read_all(self._folder):
            if record.what == crashitem and not record.is_child and record.number not in self._told:
                self._told.add(record.number)
                describe(report, record)
                report.when = in_words(record.phase)
                file, _, name = crashitem.partition("::")
                report.location = (file, record.line and record.line - 1, name.replace("::", "."))
                self.annotate(record)
                return

    # -- the end -----------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """No test runs any more."""
        if os.getpid() == self._pid:
            self._page.begin(page.FINISHING, "", 0.0)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """What GitHub is to show beside the tests."""
        for line in self._annotations:
            terminalreporter.write_line(line)

    def annotate(self, record: Record) -> None:
        """Where GitHub runs the tests, it is to show this one."""
        if self._annotates:
            self._annotations.append(annotation(record, os.environ.get("GITHUB_WORKSPACE", "")))


def _at_failure(record: Record, report: pytest.TestReport) -> Record:
    """At the line where the test failed, where its own file has no line in the stacks of the child."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if record.line is not None or crash is None or crash.path != record.file:
        return record
    return replace(record, line=crash.lineno)


class _Pauses:
    """A worker of pytest-xdist may wait long for its next test."""

    def __init__(self, of: page.Page) -> None:
        self._page = of

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self) -> None:
        """No time is counted until then."""
        self._page.rest()
