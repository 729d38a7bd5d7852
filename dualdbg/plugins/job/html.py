"""A job as one HTML file, which fetches nothing and runs nothing. Pure."""

from __future__ import annotations

from ...cli.html_page import one, page, several, table
from .report import JobReport
from .screen import words
from .text import caveat, heading, notes, remarks
from .tree import Row, rows

_DEEPEST = 40  # branches that are indented


def job_html(report: JobReport) -> str:
    """The whole file, with the whole tree."""
    parts = [f"<p>{one(line)}</p>" for line in (*remarks(report), *notes(report))]
    told = caveat(report)
    if report.judgement.verdicts or report.job.findings:
        parts.append("<h2>What is seen</h2>")
        parts += [f"<p>{one(told)}</p>"] if told is not None else []
        parts += [f"<pre>{several(verdict.text)}</pre>" for verdict in report.judgement.verdicts]
        parts += [f"<pre>{several(f'{each.source}: {each.text}')}</pre>" for each in report.job.findings]
    if report.missing or report.job.failures:
        parts.append("<h2>What could not be read</h2>")
        for row in report.missing:
            about = [("why", row.reason), ("next", row.hint), *(("its words", text) for text in row.details)]
            parts.append(f"<details><summary>{one(', '.join(row.nodes))}</summary>{table(about)}</details>")
        for each in report.job.failures:
            hint = f"<p>{one(each.hint)}</p>" if each.hint else ""
            parts.append(f"<pre>{several(each.text)}</pre>{hint}")
    parts.append("<h2>Where the ranks are, the odd ones first</h2>")
    parts += [_row(row) for row in rows(report.job.root)]
    return page(f"A job: {heading(report)}", parts)


def _row(row: Row) -> str:
    lines = "".join(
        f'<tr><td class="{"python" if place.kind == "python" else "native"}">{one(name)}</td>'
        f'<td class="place">{one(where)}</td></tr>'
        for place in row.places
        for name, where in [words(place)]
    )
    margin = 1.2 * min(row.depth, _DEEPEST)
    count = f"{row.count} rank{'s' if row.count != 1 else ''}: {row.ranks}"
    return (
        f'<details open style="margin-left: {margin:.1f}rem"><summary>{one(count)}</summary>'
        f"<table>{lines}</table></details>"
    )
