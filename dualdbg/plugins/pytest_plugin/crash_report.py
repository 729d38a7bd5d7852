"""Reports of pytest for a test, or a module, at which the process was ended."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from . import page
from .records import Record


class _Place:
    """What a report says of a failure in one line; pytest takes ``message`` for its summary and for JUnit XML."""

    def __init__(self, record: Record) -> None:
        self.path = record.file or ""
        self.lineno = record.line or 0
        self.message = record.summary


class Told:
    """The text of an incident, as the representation of a failure."""

    def __init__(self, record: Record) -> None:
        self._text = record.text
        self.reprcrash = _Place(record)

    def toterminal(self, writer: Any) -> None:
        """Write it where pytest shows failures."""
        for line in self._text.splitlines():
            writer.line(line)

    def __str__(self) -> str:
        return self._text


def describe(report: pytest.TestReport, record: Record) -> None:
    """Put the incident into a report that says no more than that there was one."""
    report.longrepr = Told(record)  # type: ignore[assignment]
    report.duration = record.seconds
    when = page.PHASES[record.phase]
    report.sections += [(f"Captured {name} {when}", text) for name, text in record.output]


def tell_of_child(report: pytest.TestReport, record: Record) -> None:
    """A process that the test has started crashed. The test may have meant that: it is told where the test fails.

    A failure of pytest's own has sections, which JUnit XML has too.
    """
    title = f"dualdbg: process {record.pid}"
    longrepr: Any = report.longrepr
    if hasattr(longrepr, "addsection"):
        longrepr.addsection(title, record.text, "-")
    else:
        report.sections.append((title, record.text))


def collect_report(record: Record) -> pytest.CollectReport:
    """A module at which the process was ended when it was imported."""
    return pytest.CollectReport(record.what, "failed", Told(record), [])  # type: ignore[arg-type]


def test_reports(record: Record, item: pytest.Item | None, has_begun: bool) -> list[pytest.TestReport]:
    """The reports that are missing of a test at which the process was ended. ``has_begun``: its setup has one."""
    reports = []
    if not has_begun and record.phase == page.CALL:
        reports.append(_report(record, item, "setup", "passed"))
    failed = _report(record, item, in_words(record.phase), "failed")
    describe(failed, record)
    reports.append(failed)
    if record.phase != page.TEARDOWN:
        reports.append(_report(record, item, "teardown", "passed"))
    return reports


def in_words(phase: int) -> Literal["setup", "call", "teardown"]:
    """A phase of a test as pytest calls it in a report, by which JUnit XML tells a failure from an error."""
    phases: tuple[Literal["setup", "call", "teardown"], ...] = ("setup", "call", "teardown")
    return phases[phase - page.SETUP]


test_reports.__test__ = False  # type: ignore[attr-defined]  # no test of pytest's


def torn_down(report: pytest.TestReport) -> pytest.TestReport:
    """The report of a teardown of which nothing is known but that it passed."""
    return pytest.TestReport(
        report.nodeid, report.location, dict(report.keywords), "passed", None, "teardown"
    )


def _report(
    record: Record,
    item: pytest.Item | None,
    when: Literal["setup", "call", "teardown"],
    outcome: Literal["passed", "failed"],
) -> pytest.TestReport:
    location = item.location if item is not None else (record.what.split("::")[0], None, record.what)
    return pytest.TestReport(record.what, location, keywords_of(item), outcome, None, when)


def keywords_of(item: pytest.Item | None) -> dict[str, Literal[1]]:
    """As pytest puts them into a report."""
    return {} if item is None else dict.fromkeys(item.keywords, 1)
