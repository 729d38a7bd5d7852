"""Snapshots as text for people. Pure: the style is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .console.printer import Printer
from .console.reports import StackReport, TasksReport, numbered
from .console.style import Style
from .model import Quality
from .snapshot.facts import Failure, ProcessReport, ThreadReport
from .snapshot.report.finding import Finding
from .snapshot.report.fold import Group, Member, fold, ranges, shown_runs
from .snapshot.report.movement import Movement
from .snapshot.report.sleeps import sleepers, waits_with_limit
from .snapshot.report.wording import activity
from .system.terminal_text import cleaned, visible

_SHOWN_MEMBERS = 8
_OF_SEVERAL_LINES: dict[type[Any], frozenset[str]] = {Finding: frozenset({"text"})}
_LONGEST_VALUE = 200  # characters of a line with a value, where no terminal sets the limit


NOTHING_WRONG = (
    "Nothing that looks wrong: no thread waits for another one that is known, for a lock of its own, for a descriptor, "
    "a child process or a notification."
)
_NOTHING_FOR_GOOD = "Nothing that looks wrong: no thread is known to wait for good."


class StackListing:
    """Text of processes and their stacks."""

    def __init__(self, style: Style, all_frames: bool = False) -> None:
        self._style = style
        self._printer = Printer(style)
        self._all_frames = all_frames

    def processes(
        self, reports: Sequence[ProcessReport], folded: bool = True, first: int | None = None
    ) -> str:
        """A line for each process, then the stacks: that of thread ``first``, then each once, the rarest first."""
        reports = cleaned(list(reports))
        lines = [self._heading(report) for report in reports]
        groups = _groups(reports, folded, first)
        several = len(reports) > 1
        for index, group in enumerate(groups):
            lines += ["", self.group_heading(index, group, groups, several)]
            lines.append(self._stack(group.example).rstrip("\n"))
        return "\n".join(lines) + "\n"

    def tasks(self, reports: Sequence[ProcessReport], folded: bool = True) -> str:
        """The tasks of asyncio of each process that has some."""
        text = ""
        for report in reports:
            found = report.tasks
            if found is None or not (found.tasks or found.notes):
                continue
            heading = f"Tasks of process {report.pid}" + (f" ({report.label})" if report.label else "")
            text += f"\n{self._style.paint('stop', heading)}\n"
            text += self._printer.render(TasksReport(found, found.tasks, folded))
        return text or "\nThere are no tasks of asyncio.\n"

    def findings(self, findings: Sequence[Finding], processes: Sequence[ProcessReport] = ()) -> str:
        """What is wrong in these processes, in words; where nothing is, who of them sleeps for a set time."""
        if not findings:
            asleep = "".join(f"  {line}\n" for line in sleepers(cleaned(list(processes))))
            limited = any(waits_with_limit(thread) for process in processes for thread in process.threads)
            return f"{_NOTHING_FOR_GOOD if limited else NOTHING_WRONG}\n{asleep}\n"
        lines = [self._style.paint("stop", "What is seen")]
        for finding in cleaned(list(findings), _OF_SEVERAL_LINES):
            first, *rest = finding.text.split("\n")
            lines += [f"- {first}", *(f"    {line}" for line in rest)]
        return "\n".join(lines) + "\n\n"

    def movements(self, rows: Sequence[Movement]) -> str:
        """What moved over the samples, and what did not."""
        rows = cleaned(list(rows))
        moved = [row for row in rows if row.moved]
        samples = max((row.samples for row in rows), default=0)
        lines = [self._style.paint("stop", f"{len(moved)} of {len(rows)} threads moved in {samples} samples")]
        for row in moved:
            lines.append(f"- thread {row.tid} {row.name} of process {row.pid}, {_different(row.stacks)}:")
            lines += [f"    {count} x {place}" for place, count in row.places]
        still = [f"{row.tid} {row.name}" for row in rows if not row.moved]
        if still:
            lines.append(f"- stood still: {_some(still)}")
        return "\n".join(lines) + "\n\n"

    def failure(self, failure: Failure) -> str:
        """Which process could not be read, why, and what to do."""
        failure = cleaned(failure)
        message = f"process {failure.pid} was not read: {failure.message}"
        text = self._style.paint("error", f"dualdbg: {message}")
        return f"{text}\n" + (f"  {failure.hint}\n" if failure.hint else "")

    def heading(self, report: ProcessReport) -> str:
        """A process: its command, its interpreter, its threads, and what could not be read."""
        return self._heading(cleaned(report))

    def _heading(self, report: ProcessReport) -> str:
        label = f" ({report.label})" if report.label else ""
        python = f"Python {report.python}" if report.python else "no Python"
        count = len(report.threads)
        facts = [python, f"{count} thread{'s' if count != 1 else ''}", _stopped(report)]
        line = self._style.paint("stop", f"Process {report.pid}{label}: {report.command}")
        lines = [line, f"  {', '.join(fact for fact in facts if fact)}"]
        lines += [self._style.paint("warning", f"  {note}") for note in report.notes]
        return "\n".join(lines)

    def group_heading(self, index: int, group: Group, groups: Sequence[Group], several: bool) -> str:
        """Which threads have a stack, and what they do. ``several``: there is more than one process."""
        text = self._style.paint("stop", f"[{index + 1}] {visible(_members(group.members, several))}")
        states = list(dict.fromkeys(activity(member.thread) for member in group.members))
        text += f": {states[0]}" if states[0] else ""
        text += f" (and {len(states) - 1} other state{'s' * (len(states) > 2)})" if len(states) > 1 else ""
        if group.differs_from is not None and len(groups[group.differs_from].members) > len(group.members):
            text += f"\n    like [{group.differs_from + 1}] below, but differs from frame #{group.differs_at} inwards"
        return text

    def _stack(self, report: ThreadReport) -> str:
        stack = report.stack
        if stack.note is None:  # a thread without Python is no problem here
            stack = replace(stack, quality=Quality.FULL)
        positions = {id(frame): position for position, frame in enumerate(stack.frames)}
        rows = numbered(stack, self._all_frames)
        repeated = list(shown_runs([frame for _, frame in rows]))
        if not report.locals and all(run.times == 1 for run, _ in repeated):
            return self._printer.render(StackReport(stack, rows, full=self._all_frames))
        stack = replace(stack, frames=())  # of one row each only that is made safe and shown
        quiet = replace(stack, quality=Quality.FULL)
        text = ""
        for run, left_out in repeated:
            for row in rows[run.start : run.start + run.period]:
                text += self._printer.render(StackReport(quiet, (row,), full=self._all_frames))
                for name, value in report.locals.get(positions[id(row[1])], ()):
                    text += _cut(f"          {name} = {value}", self._style.width) + "\n"
            text += f"  {left_out}\n" if left_out else ""
        return text + self._printer.render(StackReport(stack, ()))


def _cut(text: str, width: int | None) -> str:
    room = width or _LONGEST_VALUE
    return text if len(text) <= room else text[: room - 3] + "..."


def _groups(reports: Sequence[ProcessReport], folded: bool, first: int | None) -> list[Group]:
    alone = [group for group in _one_by_one(reports) if group.example.thread.tid == first]
    others = [
        replace(report, threads=tuple(thread for thread in report.threads if thread.thread.tid != first))
        for report in reports
    ]
    groups = fold(others) if folded else _one_by_one(others)
    return alone + [
        group if group.differs_from is None else replace(group, differs_from=group.differs_from + len(alone))
        for group in groups
    ]


def _one_by_one(reports: Sequence[ProcessReport]) -> list[Group]:
    return [Group((Member(report, thread),)) for report in reports for thread in report.threads]


def _members(members: Sequence[Member], several: bool) -> str:
    if len(members) == 1:
        (member,) = members
        where = f" of {_process(member.process)}" if several else ""
        return f"thread {member.thread.thread.tid}{_name(member.thread)}{where}"
    if not several:
        return (
            f"{len(members)} threads: {_some([str(m.thread.thread.tid) + _name(m.thread) for m in members])}"
        )
    pids = list(dict.fromkeys(member.process.pid for member in members))
    labels = list(dict.fromkeys(member.process.label for member in members))
    if all(label is not None and label.startswith("rank ") for label in labels):
        where = f"rank{'s' if len(labels) > 1 else ''} " + ranges([int(str(x).split()[1]) for x in labels])
    else:
        where = f"process{'es' if len(pids) > 1 else ''} " + _some([str(pid) for pid in pids])
    return f"{where}: {len(members)} threads like this"


def _process(report: ProcessReport) -> str:
    return f"process {report.pid}" + (f" ({report.label})" if report.label else "")


def _name(report: ThreadReport) -> str:
    name = report.thread.python_name or report.thread.name
    return f" {name}" if name else ""


def _different(stacks: int) -> str:
    return f"{stacks} different stacks" if stacks > 1 else "at the same place again"


def _some(names: Sequence[str]) -> str:
    if len(names) <= _SHOWN_MEMBERS:
        return ", ".join(names)
    return ", ".join(names[:_SHOWN_MEMBERS]) + f" and {len(names) - _SHOWN_MEMBERS} more"


def _stopped(report: ProcessReport) -> str:
    if report.torn:
        return "not stopped: a thread that moved while it was read may be shown torn"
    return f"stopped for {report.stopped * 1000:.1f} ms" if report.stopped is not None else ""
