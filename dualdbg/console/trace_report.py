"""The result of a trace as text, and as JSON."""

from __future__ import annotations

from typing import Any

from ..system.terminal_text import visible
from ..trace.collector import Numbers, Times
from ..trace.summary import Caller, Row, Summary
from .names import short_path
from .style import Style

_LINES = 40  # of a table
_IDLE = 8
_CALLERS = 10  # of each function
_SHORT = 0.1  # seconds: less has digits behind it
_TIMES = ("time", "mean", "longest")
_LEFT = "they were left by an exception or a jump, or had not returned yet"


def text(
    summary: Summary,
    style: Style,
    all_functions: str,
    all_callers: str,
    callers: int = _CALLERS,
) -> str:
    """A table of the functions, with so many callers of each, and what was not counted.

    ``all_functions`` and ``all_callers`` are what to say of those that are left out: in each front end they are seen in
    another way.
    """
    counted = [row for row in summary.rows if row.hits is not None]
    called = [row for row in counted if row.hits]
    total = sum(row.hits or 0 for row in called)
    what = f"{len(counted)} function{'s' if len(counted) != 1 else ''}"
    time = f" in {summary.seconds:.1f} s" if summary.seconds >= _SHORT else f" in {duration(summary.seconds)}"
    lines = [style.paint("stop", f"{total:,} hits of {what}{time if summary.seconds else ''}")]
    if called:
        is_timed = any(row.times is not None for row in called)
        heads = "".join(f" {head:>9}" for head in _TIMES) if is_timed else ""
        lines += ["", f"{'hits':>14} {'a second':>12}{heads}  function"]
    for row in called[:_LINES]:
        lines += [_counted(row, summary, is_timed), *_details(row, callers, is_timed, all_callers)]
    if len(called) > _LINES:
        lines.append(f"  {len(called) - _LINES} more functions: {all_functions}")
    idle = [row for row in counted if not row.hits]
    if idle:
        lines += ["", style.paint("stop", "Not called")]
    lines += [f"  {_name(row, summary)}" for row in idle[:_IDLE]]
    if len(idle) > _IDLE:
        lines.append(f"  {len(idle) - _IDLE} more functions: {all_functions}")
    refused = [row for row in summary.rows if row.hits is None]
    if refused or summary.missing:
        lines += ["", style.paint("warning", "Not counted")]
    lines += [f"  {_name(row, summary)}: {visible(row.why or '')}" for row in refused[:_LINES]]
    if len(refused) > _LINES:
        lines.append(f"  {len(refused) - _LINES} more functions: {all_functions}")
    lines += [f"  {visible(spec)}: nothing of that name was loaded" for spec in summary.missing]
    lines += _untimed(called, summary, style, all_functions)
    if summary.dropped:
        full = f"{summary.dropped:,} hits were counted and not taken down: the rings were full"
        full += ", or a thread left them by a jump, or was held up"
        lines += ["", style.paint("warning", full), "  callers and values are those of the others"]
    return "".join(f"{line}\n" for line in lines)


def _untimed(rows: list[Row], summary: Summary, style: Style, all_functions: str) -> list[str]:
    """Which calls have no time, and why."""
    found = [row for row in rows if row.times is not None and row.times.count < (row.hits or 0)]
    lines = ["", style.paint("warning", "Not timed")] if found else []
    for row in found[:_LINES]:
        assert row.times is not None
        whys = [visible(why) for why in row.untimed] or [_LEFT]
        count = f"{(row.hits or 0) - row.times.count:,} of {row.hits or 0:,} calls"
        lines.append(f"  {_name(row, summary)}: {count}: {'; '.join(whys)}")
    if len(found) > _LINES:
        lines.append(f"  {len(found) - _LINES} more functions: {all_functions}")
    return lines


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            number = seconds / size
            return f"{number:.{max(0, 2 - len(str(int(number))) + 1)}f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def _times(times: Times | None, is_timed: bool) -> str:
    if not is_timed:
        return ""
    if times is None:
        return f"{'':>{10 * len(_TIMES)}}"
    told = (times.total, times.total / times.count, times.most) if times.count else (0.0, 0.0, 0.0)
    return "".join(f" {duration(one) if one else '':>9}" for one in told)


def _counted(row: Row, summary: Summary, is_timed: bool) -> str:
    hits = row.hits or 0
    looped = "; with each turn of the loop at its beginning" if row.is_looped else ""
    not_always = f"; not all the time: {visible(row.why)}" if row.why is not None else ""
    return f"{hits:>14,} {row.rate:>12,.0f}{_times(row.times, is_timed)}  {_name(row, summary)}{looped}{not_always}"


def _details(row: Row, most: int, is_timed: bool, elsewhere: str) -> list[str]:
    """Who called it, and with which numbers. ``is_timed``: the table has columns of times."""
    told = []
    for name, numbers in row.numbers.items():
        if numbers.count:
            mean = numbers.total / numbers.count
            values = f"{numbers.least:,} to {numbers.most:,}, mean {mean:,.1f}, sum {numbers.total:,}"
            told.append(f"{visible(name)}: {values}")
    indent = 29 + 10 * len(_TIMES) * is_timed
    lines = [f"{'':>{indent}}{one}" for one in told]
    callers = row.lines()
    for caller, count, times in callers[:most]:
        inside = _times(times if row.times is not None else None, is_timed)
        share = f"{count:>14,} {count / (row.records or 1):>12.1%}{inside}"
        lines.append(f"{share}    {visible(short_path(caller.text))}")
    if len(callers) > most:
        rest = sum(count for _, count, _ in callers[most:])
        more = f"{len(callers) - most} more places: {elsewhere}"
        lines.append(f"{rest:>14,} {rest / (row.records or 1):>12.1%}{'':{indent - 29}}    {more}")
    return lines


def _name(row: Row, summary: Summary) -> str:
    return f"{visible(summary.name(row))}  {visible(row.library or '')}".rstrip()


def to_json(summary: Summary) -> dict[str, Any]:
    """The same for programs."""
    return {
        "event": "trace",
        "seconds": round(summary.seconds, 3),
        "functions": [_row(row) for row in summary.rows],
        "missing": list(summary.missing),
    }


def _row(row: Row) -> dict[str, Any]:
    told: dict[str, Any] = {
        "function": row.function,
        "library": row.library,
        "hits": row.hits,
        "why": row.why,
    }
    if row.is_looped:
        told["looped"] = True
    if row.times is not None:
        told["timed"] = row.times.count
        told["time"] = round(row.times.total, 9)
        told["untimed"] = list(row.untimed)
    if row.records is not None:
        if row.times is not None:
            told["longest"] = round(row.times.most, 9)
        told["recorded"] = row.records
        told["callers"] = [
            {**_caller(caller, count), **_timed(row, caller)} for caller, count in row.callers.most_common()
        ]
        told["numbers"] = {name: _numbers(numbers) for name, numbers in row.numbers.items() if numbers.count}
    return told


def _timed(row: Row, caller: Caller) -> dict[str, Any]:
    if row.times is None:
        return {}
    times = row.caller_times.get(caller, Times())
    return {"timed": times.count, "time": round(times.total, 9), "longest": round(times.most, 9)}


def _caller(caller: Caller, count: int) -> dict[str, Any]:
    line = caller.line
    python = None if line is None else {"function": line.function, "file": line.file, "line": line.line}
    return {"python": python, "native": caller.function, "hits": count}


def _numbers(numbers: Numbers) -> dict[str, int]:
    return {"least": numbers.least, "most": numbers.most, "sum": numbers.total}
