"""What a file says of the threads that a finding is about: whether they move shows at a second look. Pure."""

from __future__ import annotations

from typing import Any

from ...snapshot.report.standing import Standing
from . import fields

_MOST = 10_000  # threads of one finding


def recorded_standings(finding: dict[str, Any]) -> tuple[tuple[Standing, ...], float]:
    """The threads that wait, by an object ``finding``, and when they were looked at. An older dualdbg has written
    neither. Raises ValueError for what is none."""
    rows = fields.objects({"waiting": [], **finding}, "waiting", _MOST)
    return tuple(map(recorded_standing, rows)), fields.seconds(finding, "time") or 0.0


def recorded_standing(row: dict[str, Any]) -> Standing:
    """A thread, as it stood. Raises ValueError for what is none."""
    pid, tid, of_ours = (fields.number(row, name) for name in ("pid", "tid", "of_ours"))
    if pid is None or tid is None or of_ours is None:
        raise ValueError("a thread that waits has no number")
    return Standing(
        pid,
        tid,
        fields.short(row, "stack"),
        None if row.get("call") is None else fields.short(row, "call"),
        fields.seconds(row, "expiries"),
        fields.number(row, "sleeps"),
        of_ours,
        fields.seconds(row, "cpu"),
    )
