"""``dualdbg job``: the stacks of all ranks of a job as one tree, whatever machines they were taken on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...console.style import Style
from ...terminal_text import visible
from ..arguments import Parser

if TYPE_CHECKING:
    from ...job.gathering import Job

_TROUBLE_STATUS = 3
_LINES = 40  # of the tree
_WIDTH = 80  # where there is no terminal
_SHOWN = 10  # failures, and findings


def main(words: list[str]) -> int:
    options = make_parser().parse_args(words)
    from ...job.gathering import gather
    from ...job.screen import screen

    job = gather([Path(file) for file in options.files], options.all_threads)
    style = Style.of(sys.stdout)
    for line in _some(job.failures, "failures"):
        sys.stderr.write(style.paint("error", f"dualdbg: {visible(line)}") + "\n")
    if job.ranks:
        sys.stdout.write("".join(f"{line}\n" for line in _heading(job, style)))
        sys.stdout.write("\n" + screen(job.root, style.width or _WIDTH, None if options.all else _LINES))
        sys.stdout.flush()
        return 0
    sys.stderr.write(
        "dualdbg: no file has a process\n  take them with: dualdbg stacks --tree PID --json > FILE\n"
    )
    return _TROUBLE_STATUS


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="dualdbg job",
        description="Shows the stacks of all ranks of a job as one tree, the odd ranks first. The files are what "
        "dualdbg stacks --json has written, on any machines, packed by gzip or not.",
    )
    parser.add_argument("action", choices=["merge"], metavar="merge", help="put files together")
    parser.add_argument("files", nargs="+", metavar="FILE", help="- is standard input")
    parser.add_argument(
        "--all-threads", action="store_true", help="all threads, not only the main thread of each rank"
    )
    parser.add_argument(
        "--all", action="store_true", help=f"the whole tree, not only its first {_LINES} lines"
    )
    return parser


def _heading(job: Job, style: Style) -> list[str]:
    from ...snapshot.report.fold import ranges

    count = len(job.ranks)
    files = f"{job.files} file{'s' if job.files != 1 else ''}"
    lines = [style.paint("stop", f"{count} rank{'s' if count != 1 else ''} in {files}")]
    if job.is_numbered:
        lines.append("  no process tells its rank: they are numbered as they came")
    if job.missing:
        lines.append(style.paint("warning", f"  in no file: {_ranks(job.missing)}"))
    if job.twice:
        told = f"  of several processes: {_ranks(ranges(sorted(job.twice)))}; were files of two jobs put together?"
        lines.append(style.paint("warning", told))
    if job.others:
        lines.append(
            f"  left out: {job.others} processes that are no ranks (launchers, and what ranks have started)"
        )
    for file, text in job.findings[:_SHOWN]:
        first, *rest = text.split("\n")
        lines += [f"- {visible(file)}: {visible(first)}", *(f"    {visible(line)}" for line in rest)]
    if len(job.findings) > _SHOWN:
        lines.append(f"  and {len(job.findings) - _SHOWN} more findings")
    return lines


def _ranks(text: str) -> str:
    return f"rank{'s' if not text.isdecimal() else ''} {text}"


def _some(rows: list[str], what: str) -> list[str]:
    more = [f"and {len(rows) - _SHOWN} more {what}"] if len(rows) > _SHOWN else []
    return rows[:_SHOWN] + more
