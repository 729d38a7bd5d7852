"""The report of what a session has counted and taken down."""

from __future__ import annotations

from ..session.session import Session
from .reports import TraceReport


async def report_so_far(session: Session) -> TraceReport | None:
    """What was found so far; None where nothing is counted. Raises WrongState where a stop comes in between."""
    if session.trace is None or not any(row.spec.counts for row in session.breakpoints.all()):
        return None
    return TraceReport(await session.trace.summary())


async def report_at_end(session: Session) -> TraceReport | None:
    """What is told by itself when the session is over; None where nothing was to be taken down."""
    if session.trace is None or not session.trace.takes_down:
        return None
    return TraceReport(await session.trace.summary())
