"""``dualdbg stacks``: where every thread of one or of many processes is, in both languages."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...console.style import Style
from ...errors import UsageError
from ...system.terminal_text import cleaned
from ..arguments import Parser, add_fix_ptrace, seconds, whole_number

if TYPE_CHECKING:
    from argparse import Namespace

    from ...snapshot.facts import Failure, ProcessReport
    from ...snapshot.report.finding import Finding
    from ...snapshot.report.movement import Movement
    from ...snapshot.report.waits import Earlier
    from ...stack_listing import StackListing

Allowed = Callable[[], AbstractContextManager[None]]  # in its block the processes may be traced

_TROUBLE_STATUS = 3
_SAMPLES, _INTERVAL = 200, 0.05  # of a profile, where the user does not say
_NAMED = 20  # threads are asked for their Python names in one sample of so many: it takes as long as all else
_LONGEST = 86400.0  # seconds between samples
_DRAWN = {
    "folded": "a line for each stack, as flamegraph.pl reads it",
    "speedscope": "a profile for https://www.speedscope.app",
    "flamegraph": "a flame graph, one SVG",
}


def main(words: list[str]) -> int:
    options = read_options(words)
    from ...snapshot.linux.targets import find_targets
    from ...stack_listing import StackListing
    from ...symbols.source_lines import SourceLines

    options.cores = [target for target in options.targets if _is_core(target)]
    options.targets = [target for target in options.targets if target not in options.cores]
    if options.limit is not None:
        signal.setitimer(
            signal.ITIMER_REAL, options.limit
        )  # nobody handles SIGALRM: it ends us, whatever we wait for
    pids = find_targets(options.targets, options.tree, options.having)
    if options.cores and _is_profile(options):
        raise UsageError("a core is one moment, and has no profile", "dualdbg stacks CORE shows its stacks")
    if not pids and not options.cores:
        pids = [_ask()]
    options.lines = SourceLines()
    listing = StackListing(Style.of(sys.stdout), options.all)
    look = _profile if _is_profile(options) else _watch if options.watch else _once
    if not options.fix_ptrace:
        return look(options, pids, listing, nullcontext)
    from ...target.scope import lowering_for
    from ..main import tell

    lowering = lowering_for(pids, "the stacks are read", tell)
    if lowering is None:
        return look(options, pids, listing, nullcontext)
    try:
        return look(options, pids, listing, lowering.lowered)
    finally:
        lowering.close()


def _is_core(target: str) -> bool:
    if target.isdigit():
        return False
    from ...snapshot.core_file import is_core

    return is_core(target)


def _ask() -> int:
    """Without a target the user chooses one, at a terminal."""
    from ...snapshot.linux.processes import python_processes
    from ..process_table import choose

    return choose(python_processes() if sys.stdin.isatty() else [], "stacks")


def _once(options: Namespace, pids: Sequence[int], listing: StackListing, allowed: Allowed) -> int:
    with allowed():
        reports, failures = _take(options, pids)
        findings = _findings(options, reports)
    earlier: Earlier | None = None
    if findings is not None and pids:
        from ...snapshot.report.diagnose import one_look_cannot_tell
        from ...snapshot.report.waits import Earlier

        if one_look_cannot_tell(reports, findings):
            time.sleep(options.interval)
            earlier = Earlier(reports, options.interval)
            with allowed():
                reports, failures = _take(options, pids)
                findings = _findings(options, reports, earlier)
    if options.json:
        _write_json(options, reports, failures, findings, earlier)
    else:
        _write(options, listing, reports, failures, findings)
    return _TROUBLE_STATUS if failures and not reports else 0


def _watch(options: Namespace, pids: Sequence[int], listing: StackListing, allowed: Allowed) -> int:
    """Several samples: what moved, and the stacks of the last one."""
    from ...snapshot.report.movement import movements
    from ...snapshot.report.waits import Earlier

    samples: list[list[ProcessReport]] = []
    for number in range(options.watch):
        if number:
            time.sleep(options.interval)
        with allowed():
            reports, failures = _take(options, pids)
            earlier = Earlier(samples[-1], options.interval) if samples else None
            findings = _findings(options, reports, earlier) if number == options.watch - 1 else None
        samples.append(reports)
    rows = movements(samples, options.interval) if options.watch > 1 else []  # nothing moves in one moment
    if options.json:
        _write_json(options, reports, failures, findings, earlier, rows)
    else:
        sys.stdout.write(listing.movements(rows))
        _write(options, listing, reports, failures, findings)
    return _TROUBLE_STATUS if not any(samples) else 0


def _is_profile(options: Namespace) -> bool:
    return bool(options.top or options.gil or _files(options))


def _files(options: Namespace) -> dict[str, Path]:
    return {kind: Path(getattr(options, kind)) for kind in _DRAWN if getattr(options, kind) is not None}


def _profile(options: Namespace, pids: Sequence[int], listing: StackListing, allowed: Allowed) -> int:
    """Several samples, summed up: where the time goes."""
    from ...snapshot.capture import Wanted
    from ...snapshot.known import Known
    from ...snapshot.linux.procfs import thread_ids
    from ...snapshot.take import same_files
    from ...snapshot.take import take as take_reports
    from ...symbols.address_space import AddressSpace
    from ..sampling import sample, summary, write_files

    known = {pid: Known(AddressSpace(pid), may_defer=True) for pid in pids}
    named: set[int] = set()
    since = _NAMED

    def take() -> tuple[list[ProcessReport], list[Failure]]:
        """Threads that are new are asked for their Python names, which takes as long as all else."""
        nonlocal since
        threads = {tid for pid in pids for tid in thread_ids(pid)}
        is_news = since >= _NAMED and not threads <= named
        since = 0 if is_news else since + 1
        named.update(threads if is_news else ())
        wanted = Wanted() if is_news else Wanted.for_profile()
        with allowed():
            return take_reports(
                pids, stop=not options.no_stop, wanted=wanted, lines=options.lines, known=known
            )

    def deferred() -> list[int]:
        return [pid for pid, one in known.items() if one.defers]

    sampled = sample(take, options.watch, options.interval, options.idle, deferred, lambda: same_files(known))
    write_files(sampled, _files(options), "dualdbg stacks " + " ".join(map(str, pids)))
    sys.stdout.write(summary(sampled, options.gil, Style.of(sys.stdout)))
    for failure in sampled.failures:
        sys.stderr.write(listing.failure(failure))
    sys.stdout.flush()
    return 0 if sampled.profile.samples else _TROUBLE_STATUS


def _take(options: Namespace, pids: Sequence[int]) -> tuple[list[ProcessReport], list[Failure]]:
    from ...snapshot.capture import Wanted
    from ...snapshot.take import take

    wanted = Wanted(
        locals=options.locals,
        sleeps=options.watch is not None,
        locks=options.diagnose,
        tasks=options.tasks or options.diagnose,
        distributed=options.diagnose,
    )
    reports, failures = take(pids, stop=not options.no_stop, wanted=wanted, lines=options.lines)
    if options.cores:
        from ...snapshot.core_file import report_core

        reports += [report_core(path, wanted, lines=options.lines) for path in options.cores]
    if options.diagnose:
        from ...snapshot.other_processes import with_other_processes

        reports = with_other_processes(reports)
    return reports if options.json else cleaned(reports), failures


def _findings(
    options: Namespace, reports: Sequence[ProcessReport], earlier: Earlier | None = None
) -> list[Finding] | None:
    if not options.diagnose:
        return None
    from ...snapshot.report.diagnose import diagnose
    from ...snapshot.take import parents_of_forks

    return diagnose(reports, parents_of_forks(reports, stop=not options.no_stop), earlier)


def _has_more_to_say(reports: Sequence[ProcessReport]) -> bool:
    """Whether threads wait for each other, as far as that is seen without the locks that --diagnose reads."""
    from ...snapshot.report.diagnose import diagnose

    return bool(diagnose(reports))


def _has_tasks(reports: Sequence[ProcessReport]) -> bool:
    """Whether a thread runs an event loop of asyncio."""
    from ...stacks.task_frames import runs_event_loop

    return any(runs_event_loop(thread.stack.frames) for report in reports for thread in report.threads)


def read_options(words: Sequence[str]) -> Namespace:
    """The options of the command line. Raises UsageError for those that have no meaning together."""
    options = make_parser().read(words)
    options.json = options.json or options.packed
    if None in options.tree:  # PID --tree
        options.tree = [*filter(None, options.tree), *(int(one) for one in options.targets if one.isdigit())]
        options.targets = [one for one in options.targets if not one.isdigit()]
    if _is_profile(options):
        if options.json or options.locals or options.diagnose or options.tasks:
            raise UsageError(
                "a profile is where the time goes; --json, --locals, --tasks and --diagnose are about one sample",
                "leave them out, or --top, --gil, --folded, --speedscope and --flamegraph",
            )
        options.watch = options.watch or _SAMPLES
        options.interval = _INTERVAL if options.interval is None else options.interval
    options.interval = 1.0 if options.interval is None else options.interval
    return options


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="dualdbg stacks",
        description="Shows the merged stack of every thread. The process is stopped for a few milliseconds.",
    )
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="a PID, a part of a command line, or a core file"
    )
    parser.add_argument("--tree", type=int, action="append", default=[], nargs="?", metavar="PID",
                        help="a process and its descendants")  # fmt: skip
    parser.add_argument(
        "--having",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="processes with this in their environment; repeatable: RANK for all ranks of torchrun",
    )
    parser.add_argument("--all", action="store_true", help="show the interpreter's own frames too")
    parser.add_argument(
        "--locals", action="store_true", help="show the arguments and locals of Python frames"
    )
    parser.add_argument(
        "--tasks", action="store_true", help="show the tasks of asyncio, and what each awaits"
    )
    parser.add_argument("--diagnose", action="store_true", help="say in words what the threads wait for")
    parser.add_argument("--each", action="store_true", help="show every thread, also those with equal stacks")
    parser.add_argument(
        "--no-stop", action="store_true", help="read without stopping; what is torn is marked"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a process")
    parser.add_argument(
        "--packed",
        action="store_true",
        help="for dualdbg job: each stack once, packed as base64 of gzip, which passes any connection",
    )
    parser.add_argument(
        "--limit",
        type=partial(seconds, most=_LONGEST, or_zero=True),
        metavar="SECONDS",
        help="end after so long, whatever it waits for",
    )
    parser.add_argument("--watch", type=whole_number, metavar="N", help="take N samples, and say what moved")
    parser.add_argument(
        "--interval",
        type=partial(seconds, most=_LONGEST, or_zero=True),
        metavar="SECONDS",
        help="between samples and looks (default: 1; of a profile 0.05)",
    )
    parser.add_argument(
        "--top", action="store_true", help="sum the samples up: the functions with most of the time"
    )
    parser.add_argument(
        "--gil", action="store_true", help="the same, and which threads held the GIL or waited for it"
    )
    for kind, what in _DRAWN.items():
        parser.add_argument(f"--{kind}", metavar="FILE", help=f"the same, and write {what}")
    parser.add_argument("--idle", action="store_true", help="in a profile, count threads that sleep too")
    add_fix_ptrace(parser, "the stacks are read")
    return parser


def _write(
    options: Namespace,
    listing: StackListing,
    reports: Sequence[ProcessReport],
    failures: Sequence[Failure],
    findings: Sequence[Finding] | None,
) -> None:
    if findings is not None:
        sys.stdout.write(listing.findings(findings, reports))
    if reports:
        sys.stdout.write(listing.processes(reports, folded=not options.each))
    if options.tasks:
        sys.stdout.write(listing.tasks(reports, folded=not options.each))
    chosen = [*options.targets, *options.cores, *(f"--tree {pid}" for pid in options.tree)]
    words = " ".join(["dualdbg stacks", *map(str, chosen or [report.pid for report in reports])])
    if findings is None and _has_more_to_say(reports):
        sys.stdout.write(f"\nWhat they wait for, in words: {words} --diagnose\n")
    if not options.tasks and _has_tasks(reports):
        sys.stdout.write(f"\nThe tasks that its event loop runs: {words} --tasks\n")
    for failure in failures:
        sys.stderr.write(listing.failure(failure))
    sys.stdout.flush()


def _write_json(
    options: Namespace,
    reports: Sequence[ProcessReport],
    failures: Sequence[Failure],
    findings: Sequence[Finding] | None,
    earlier: Earlier | None,
    rows: Sequence[Movement] = (),
) -> None:
    from .. import snapshot_json

    objects = [*map(snapshot_json.movement_to_json, rows), *map(snapshot_json.process_to_json, reports)]
    objects += map(snapshot_json.failure_to_json, failures)
    if findings is not None:
        now = time.time()
        objects += snapshot_json.ranks_to_json(reports, earlier, now)
        # When it was seen, for a second look that is another command's.
        objects += [{**snapshot_json.finding_to_json(each), "time": round(now, 3)} for each in findings]
    if options.packed:
        from ... import __version__
        from ...snapshot.merged import merged
        from ...snapshot.packed import pack

        text = pack("".join(json.dumps(each) + "\n" for each in merged(objects)), __version__)
    else:
        text = "".join(json.dumps(each) + "\n" for each in objects)
    sys.stdout.write(text)
    sys.stdout.flush()
