"""A pytest plugin for `make test`: a line names the areas that run, how far each is, and each test that fails."""

from __future__ import annotations

import time
from collections import Counter

import pytest

_INTERVAL = 10.0  # between two lines; one for each file would be hundreds


def pytest_configure(config: pytest.Config) -> None:
    # Only where xdist shares the files out: pytest itself names each file that it runs one after the other.
    if getattr(config.option, "numprocesses", None) and config.option.verbose == 0:
        config.pluginmanager.register(Progress())


class Progress:
    """Print a line for what has run since the last one, in place of pytest's dots."""

    def __init__(self) -> None:
        self._begun = self._printed = time.monotonic()
        self._wanted: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        self._lately: dict[str, None] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._want([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._want(ids)  # each worker has the same

    def _want(self, ids: list[str]) -> None:
        if ids:
            self._wanted = Counter(map(_area, ids))

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Passed and skipped tests have no letter: the lines count them."""
        if report.failed or report.outcome not in ("passed", "skipped") or hasattr(report, "wasxfail"):
            return None
        counted = report.skipped or report.when == "call"
        return (report.outcome if counted else ""), "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        area = _area(report.nodeid)
        self._lately[area] = None
        if report.failed:
            print(f"\n{report.outcome.upper()} {report.nodeid}", flush=True)
        if report.when == "teardown":
            self._done[area] += 1
            now = time.monotonic()
            if now - self._printed >= _INTERVAL or self._done.total() == self._wanted.total():
                self._printed = now
                print(self.line(now - self._begun), flush=True)
                self._lately.clear()

    def line(self, seconds: float) -> str:
        """Return `` 12 %  1:30  cli 40 of 300, dap 2 of 80``: of all tests, since the start, of the areas at work."""
        part = 100 * self._done.total() // max(1, self._wanted.total())
        areas = ", ".join(f"{area} {self._done[area]} of {self._wanted[area]}" for area in self._lately)
        return f"{part:3} %  {int(seconds) // 60}:{int(seconds) % 60:02}  {areas}"


def _area(nodeid: str) -> str:
    """Return the folder of ``tests`` that a test is in."""
    return nodeid.split("/")[1] if nodeid.count("/") > 1 else "tests"
