"""``dualdbg job``: the stacks of all ranks of a job as one tree, and who holds it up, on whatever machines they run."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...cli.arguments import Parser, seconds, whole_number
from ...cli.main import tell
from ...console.style import Style
from ...errors import UsageError
from ...system.patience import patient

if TYPE_CHECKING:
    from argparse import Namespace

    from .answers import Answer
    from .report import JobReport

SUMMARY = "the stacks of all ranks of a job as one tree, whatever machines they were taken on"
_TROUBLE_STATUS = 3
_LINES = 40  # of the tree
_TIMEOUT, _WINDOW, _INTERVAL = 60.0, 64, 1.0
_LONGEST = 3600.0  # seconds
_MOST_AT_A_TIME = 1000  # each has four descriptors
_OF_NODES = ("having", "dualdbg", "timeout", "interval", "window")  # options that `merge` does not have
_ERASE = "\r\x1b[K"  # the line of a terminal (ECMA-48, EL)


def main(words: list[str]) -> int:
    parser = make_parser()
    options = parser.read(words)
    if options.via is None and options.words[:1] != ["merge"]:
        raise UsageError(
            "job: merge FILE..., or --via LAUNCHER, is missing",
            "dualdbg job --via local PID, dualdbg job merge FILE..., or --help",
        )
    if options.via is None:
        _refuse_what_files_have_no_use_for(parser, options)
    if options.html is not None:
        _try_to_open(Path(options.html))  # before nodes are asked: that may take minutes
    return _show(options, _merged(options) if options.via is None else _asked(options))


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="dualdbg job",
        usage="dualdbg job --via LAUNCHER [OPTIONS] [TARGET ...]\n       dualdbg job merge [OPTIONS] FILE ...",
        description="Shows the stacks of all ranks of a job as one tree, the odd ranks first, and says who holds the "
        "job up. It asks the nodes by what runs the job; or the files are what dualdbg stacks --json has written.",
    )
    parser.add_argument(
        "words", nargs="*", metavar="TARGET", help="a PID, or a part of a command line (default: all ranks)"
    )
    parser.add_argument(
        "--via",
        metavar="LAUNCHER",
        help="local, ssh:HOSTS, slurm:JOBID, k8s:SELECTOR, mpi:HOSTS, ray:ADDRESS: how the nodes are reached",
    )
    parser.add_argument(
        "--having",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="the ranks are the processes with this in their environment; repeatable",
    )
    parser.add_argument(
        "--dualdbg", metavar="COMMAND", help="how dualdbg is called on the nodes (default: dualdbg)"
    )
    parser.add_argument(
        "--timeout",
        type=partial(seconds, most=_LONGEST),
        default=_TIMEOUT,
        metavar="SECONDS",
        help="for each node (default: 60)",
    )
    parser.add_argument(
        "--interval",
        type=partial(seconds, most=_LONGEST),
        default=_INTERVAL,
        metavar="SECONDS",
        help="between the two looks (default: 1)",
    )
    parser.add_argument(
        "--window",
        type=partial(whole_number, most=_MOST_AT_A_TIME),
        default=_WINDOW,
        metavar="N",
        help="ask so many nodes at a time (default: 64)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--html", metavar="FILE", help="write the whole report as one HTML file, too")
    parser.add_argument(
        "--all-threads", action="store_true", help="all threads, not only the main thread of each rank"
    )
    parser.add_argument(
        "--all", action="store_true", help=f"the whole tree, not only its first {_LINES} lines"
    )
    return parser


def _refuse_what_files_have_no_use_for(parser: Parser, options: Namespace) -> None:
    typed = [name for name in _OF_NODES if getattr(options, name) != parser.get_default(name)]
    if typed:
        raise UsageError(
            f"job merge: --{typed[0]} is for nodes that are asked, files are only read",
            "leave it out, or use it with --via; dualdbg stacks --having NAME chooses the processes of a file",
        )


def _merged(options: Namespace) -> JobReport:
    from .gathering import gather
    from .recorded import Source
    from .report import JobReport
    from .verdict import judge

    files = options.words[1:]
    if not files:
        raise UsageError("job merge: no file is named", "dualdbg stacks --tree PID --json > FILE makes one")
    job = gather([Source(file, Path(file)) for file in files], options.all_threads)
    return JobReport(job, judge(job))


def _asked(options: Namespace) -> JobReport:
    from ...system.environment import own_module
    from ...system.session_folders import temporary
    from . import answers, asking, launchers
    from .fan_out import Asking
    from .report import JobReport

    launcher, address = launchers.find(options.via)
    if options.dualdbg is not None:
        words = launchers.words_in(options.dualdbg, "--dualdbg", "--dualdbg 'python -m dualdbg'")
    else:
        words = own_module("dualdbg") if launcher is launchers.LOCAL else ["dualdbg"]
    limit = patient(options.timeout)
    targets = asking.targets(launcher, address, options.words, options.having)
    question = asking.Question(launcher, launcher.nodes(address), tuple(words), targets)
    with temporary() as folder:
        how = Asking(limit, options.window, folder)
        asked = asking.ask(question, how, options.interval, options.all_threads, _Progress)
    answered = [*asked.answers, *question.left_out()]
    called = options.dualdbg or "dualdbg"
    missing = answers.missing(answered, limit, launcher.statuses, question.by_hand(), called)
    return JobReport(asked.job, asked.judgement, options.via, len(answered), tuple(missing), not asked.whole)


class _Progress:
    """How many nodes have answered, in one line of a terminal that is written over; nothing where stderr is none."""

    def __init__(self, look: int, nodes: int) -> None:
        self._look, self._nodes = look, nodes
        self._answered = self._failed = 0
        self._is_shown = sys.stderr.isatty() and nodes > 0

    def __enter__(self) -> Callable[[Answer], None]:
        self._write()
        return self._take

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            sys.stderr.write(_ERASE)
            sys.stderr.flush()

    def _take(self, answer: Answer) -> None:
        self._answered += 1
        self._failed += answer.trouble is not None
        self._write()

    def _write(self) -> None:
        if self._is_shown:
            failed = f", {self._failed} failed" if self._failed else ""
            sys.stderr.write(f"{_ERASE}look {self._look}: {self._answered} of {self._nodes} nodes{failed}")
            sys.stderr.flush()


def _show(options: Namespace, report: JobReport) -> int:
    from .text import job_text, troubles

    if options.html is not None:
        from .html import job_html

        _write(Path(options.html), job_html(report))
    if options.json:
        from .json_form import job_to_json

        sys.stdout.write("".join(json.dumps(each) + "\n" for each in job_to_json(report)))
        sys.stdout.flush()
        return 0 if report.job.ranks else _TROUBLE_STATUS
    for line in troubles(report, Style.of(sys.stderr)):
        sys.stderr.write(f"{line}\n")
    if report.job.ranks:
        sys.stdout.write(job_text(report, Style.of(sys.stdout), None if options.all else _LINES))
        sys.stdout.flush()
        return 0
    if report.job.failures:
        told = "no process of the job could be read", ""  # why not, and what to type next, is above
    elif report.job.launchers:
        told = (
            f"no rank has begun yet: {report.job.launchers[0]} is a launcher, and nothing that it has started was read",
            "look again in a moment; dualdbg stacks --tree PID --diagnose, of the launcher, shows what it does",
        )
    elif report.via is None:
        told = "no file has a process", "take them with: dualdbg stacks --tree PID --json > FILE"
    elif report.interrupted:
        told = "no node had answered when it was interrupted", ""
    else:
        told = (
            "no node has sent a process",
            "name the ranks by a part of their command line: dualdbg job --via ... train.py",
        )
    tell(*told)
    return _TROUBLE_STATUS


def _try_to_open(path: Path) -> None:
    """Raises UsageError where the file cannot be written. What is in it stays, and a new one is not left behind."""
    is_new = not path.exists()
    with _writing(path):
        path.open("a").close()
        if is_new:
            path.unlink()


def _write(path: Path, text: str) -> None:
    with _writing(path):
        path.write_text(text, encoding="utf-8", errors="backslashreplace")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {os.strerror(error.errno or 0)}", "--html FILE"
        ) from error
