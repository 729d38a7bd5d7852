"""A pytest plugin for .ci/run: what failed is tried once more, and what passes then is printed as flaky.

The first run writes the names of the tests that failed (``--failed-to=FILE``), unless it ended before all were run.
The second one runs these alone (``--again-from=FILE``), and fails when more than two of them were flaky.
"""

from __future__ import annotations

from pathlib import Path

import pytest

_MOST_FLAKY = 2


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("second try")
    group.addoption("--failed-to", type=Path, metavar="FILE", help="write the names of the tests that failed")
    group.addoption("--again-from", type=Path, metavar="FILE", help="run those alone")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return  # a worker of xdist: its results are gathered where it was started
    failed_to, again_from = config.getoption("--failed-to"), config.getoption("--again-from")
    if failed_to:
        config.pluginmanager.register(_First(failed_to))
    if again_from:
        config.pluginmanager.register(_Second(again_from.read_text().splitlines()))


class _Outcomes:
    def __init__(self) -> None:
        self.failed: set[str] = set()
        self.passed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.add(report.nodeid)


class _First(_Outcomes):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.TESTS_FAILED:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text("".join(f"{name}\n" for name in sorted(self.failed)))


class _Second(_Outcomes):
    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self._names = set(names)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        others = [item for item in items if item.nodeid not in self._names]
        items[:] = [item for item in items if item.nodeid in self._names]
        config.hook.pytest_deselected(items=others)

    def _flaky(self) -> list[str]:
        return sorted(self.passed - self.failed)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        everything_ran = self._names == self.passed | self.failed
        if exitstatus == pytest.ExitCode.OK and (len(self._flaky()) > _MOST_FLAKY or not everything_ran):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name in sorted(self._names - self.passed - self.failed):
            terminalreporter.write_line(f"failed at first, and was not run again: {name}")
        for name in self._flaky():
            terminalreporter.write_line(f"flaky: {name}")
        if len(self._flaky()) > _MOST_FLAKY:
            terminalreporter.write_line(f"more than {_MOST_FLAKY} tests were flaky: that fails")
