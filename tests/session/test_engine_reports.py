"""What engines report before there is a session reaches it, once and in order."""

from __future__ import annotations

import pytest

from dualdbg.backends.events import EngineEnded, EngineEvent, NativeConsole
from dualdbg.session.engine_reports import EngineReports

pytestmark = pytest.mark.pure


class Session:
    def __init__(self) -> None:
        self.heard: list[EngineEvent] = []

    def report(self, event: EngineEvent) -> None:
        self.heard.append(event)

    def congested(self) -> bool:
        return len(self.heard) > 2


def test_early_reports_come_first_and_once() -> None:
    reports, session = EngineReports(), Session()
    early = [NativeConsole("one"), EngineEnded("gdb", "it was killed")]
    for event in early:
        reports.report(event)
    assert not reports.congested(), "there is nobody yet who could be too slow"
    reports.go_to(session)
    reports.report(NativeConsole("two"))
    assert session.heard == [*early, NativeConsole("two")]
    assert reports.congested()
