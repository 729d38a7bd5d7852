"""The result of a trace as text, and as JSON."""

from __future__ import annotations

from typing import Any

from ..console.style import Style
from ..terminal_text import visible
from ..trace.summary import Row, Summary

_LINES = 40  # of a table


def text(summary: Summary, style: Style) -> str:
    """A table of the functions, and what was not counted."""
    counted = [row for row in summary.rows if row.hits is not None]
    total = sum(row.hits or 0 for row in counted)
    what = f"{len(counted)} function{'s' if len(counted) != 1 else ''}"
    lines = [style.paint("stop", f"{total:,} hits of {what} in {summary.seconds:.1f} s")]
    if counted:
        lines += ["", f"{'hits':>14} {'a second':>12}  function"]
    lines += [_counted(row, summary) for row in counted[:_LINES]]
    if len(counted) > _LINES:
        lines.append(f"  {len(counted) - _LINES} more functions: --json has all")
    refused = [row for row in summary.rows if row.hits is None]
    if refused or summary.missing:
        lines += ["", style.paint("warning", "Not counted")]
    lines += [f"  {_name(row)}: {visible(row.why or '')}" for row in refused[:_LINES]]
    if len(refused) > _LINES:
        lines.append(f"  {len(refused) - _LINES} more functions: --json has all")
    lines += [f"  {visible(spec)}: nothing of that name was loaded" for spec in summary.missing]
    return "".join(f"{line}\n" for line in lines)


def _counted(row: Row, summary: Summary) -> str:
    hits = row.hits or 0
    why = f"; not all the time: {visible(row.why)}" if row.why is not None else ""
    return f"{hits:>14,} {summary.rate(hits):>12,.0f}  {_name(row)}{why}"


def _name(row: Row) -> str:
    return f"{visible(row.function)}  {visible(row.library or '')}".rstrip()


def to_json(summary: Summary) -> dict[str, Any]:
    """The same for programs."""
    return {
        "event": "trace",
        "seconds": round(summary.seconds, 3),
        "functions": [
            {"function": row.function, "library": row.library, "hits": row.hits, "why": row.why}
            for row in summary.rows
        ],
        "missing": list(summary.missing),
    }
