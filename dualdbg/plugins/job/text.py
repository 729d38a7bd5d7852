"""A job as text for people: what was read, what is missing, what is seen, and the tree. Pure."""

from __future__ import annotations

from ...console.style import Style
from ...snapshot.report.fold import ranges
from ...system.terminal_text import visible
from .answers import names
from .report import JobReport
from .screen import screen
from .verdict import Looks

SHOWN = 10  # failures, findings, verdicts
_WIDTH = 80  # where there is no terminal


def troubles(report: JobReport, style: Style) -> list[str]:
    """The nodes and files that could not be read, each reason with what to type next."""
    lines = []
    for row in report.missing[:SHOWN]:
        lines.append(style.paint("error", f"dualdbg: {visible(names(row.nodes))}: {visible(row.reason)}"))
        for detail in row.details[:2]:
            lines += [f"    {visible(line)}" for line in detail.splitlines()[-3:]]
        if row.hint:
            lines.append(f"  {visible(row.hint)}")
    lines += _more(len(report.missing), "reasons")
    of_hint: dict[str, list[str]] = {}
    for each in report.job.failures[:SHOWN]:
        of_hint.setdefault(each.hint, []).append(each.text)
    for hint, texts in of_hint.items():
        lines += [style.paint("error", f"dualdbg: {visible(text)}") for text in texts]
        lines += [f"  {visible(hint)}"] if hint else []
    return lines + _more(len(report.job.failures), "failures")


def job_text(report: JobReport, style: Style, lines: int | None) -> str:
    """The job. ``lines``: the most lines of the tree, None for all."""
    rows = [*_heading(report, style), *_seen(report, style)]
    tree = screen(report.job.root, style.width or _WIDTH, lines)
    return "".join(f"{row}\n" for row in rows) + "\n" + tree


def heading(report: JobReport) -> str:
    """``16 ranks on 2 nodes``, ``3 ranks of 8 on 1 node``."""
    count, total = report.answered
    what, where = ("node", "on") if report.via else ("file", "in")
    of = f" of {total}" if count != total else ""
    ranks = _count(len(report.job.ranks), "rank")
    if (size := report.job.world_size) is not None and size > len(report.job.ranks):
        ranks += f" of {size}"
    return f"{ranks} {where} {count}{of} {what}{'s' if total != 1 else ''}"


def remarks(report: JobReport) -> list[str]:
    """What has to be known of the ranks that were read, and of those that were not; warnings."""
    job, judgement = report.job, report.judgement
    lines = []
    if report.interrupted:
        lines.append("interrupted: what came so far")
    if job.missing:
        lines.append(f"{'on no node that answered' if report.via else 'in no file'}: {_ranks(job.missing)}")
    if job.twice:
        lines.append(f"of several processes: {_ranks(ranges(sorted(job.twice)))}; {_several_jobs(report)}")
    if judgement.others:
        how = (
            "" if report.via else ": dualdbg stacks --diagnose reads it"
        )  # of nodes the reason is told as a failure
        ranks = _ranks(ranges(sorted(judgement.others)))
        lines.append(f"others wait, but what {ranks} did then was not read{how}")
    if judgement.is_ambiguous:
        lines.append("who holds the job up is not told: several processes claim the same rank")
    return lines


def notes(report: JobReport) -> list[str]:
    """The same, where nothing is wrong."""
    lines = []
    if report.job.is_numbered:
        lines.append("no process tells its rank: they are numbered as they came")
    if report.job.others:
        lines.append(
            f"left out: {_count(report.job.others, 'process that is no rank', 'processes that are no ranks')} "
            "(launchers, and what ranks have started)"
        )
    return lines


def caveat(report: JobReport) -> str | None:
    """What the verdicts are worth, where they are not from two looks at all ranks together."""
    if not report.judgement.verdicts or report.judgement.looks is Looks.TWO_TOGETHER:
        return None
    if report.judgement.looks is Looks.ONE:
        return "from one look: ranks of a job that goes on wait for each other too, for a moment"
    return (
        "from two looks at each machine, each at its own time: it is so if they were taken at the same time"
    )


def _heading(report: JobReport, style: Style) -> list[str]:
    return [
        style.paint("stop", heading(report)),
        *(f"  {line}" for line in notes(report)),
        *(style.paint("warning", f"  {line}") for line in remarks(report)),
    ]


def _seen(report: JobReport, style: Style) -> list[str]:
    lines: list[str] = []
    told = caveat(report)
    if told is not None:
        lines.append(f"  {told}")
    for verdict in report.judgement.verdicts[:SHOWN]:
        lines += _finding(verdict.text)
    lines += _more(len(report.judgement.verdicts), "verdicts")
    for each in report.job.findings[:SHOWN]:
        lines += _finding(f"{each.source}: {each.text}")
    return lines + _more(len(report.job.findings), "findings")


def _finding(text: str) -> list[str]:
    first, *rest = text.split("\n")
    return [f"- {visible(first)}", *(f"    {visible(line)}" for line in rest)]


def _several_jobs(report: JobReport) -> str:
    if report.via is None:
        return "were files of two jobs put together?"
    return "are these two jobs? --having MASTER_PORT=29500 takes one"


def _more(count: int, what: str) -> list[str]:
    return [f"  and {count - SHOWN} more {what}"] if count > SHOWN else []


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _ranks(text: str) -> str:
    return f"rank{'s' if not text.isdecimal() else ''} {text}"
