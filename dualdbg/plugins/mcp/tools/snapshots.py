"""``stacks`` and ``diagnose``: where threads are and what they wait for, with and without a session."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from ....console.style import Style
from ....errors import TargetError, UsageError, WrongState
from ....known.python_files import is_of_a_library
from ....model import State, Task
from ....session.post_mortem import CoreSession
from ....snapshot.capture import Held, Wanted
from ....snapshot.core_file import report_core
from ....snapshot.facts import Failure, ProcessReport, ThreadReport
from ....snapshot.linux.targets import find_targets
from ....snapshot.other_processes import with_other_processes
from ....snapshot.report.diagnose import diagnose, one_look_cannot_tell
from ....snapshot.report.finding import Finding
from ....snapshot.report.fold import Group, Member, fold
from ....snapshot.report.telling_frame import place
from ....snapshot.report.waits import Earlier
from ....snapshot.report.wording import activity
from ....snapshot.take import parents_of_forks, take
from ....snapshot.thread_states import Doing, thread_states
from ....stack_listing import StackListing
from ....symbols.source_lines import SourceLines
from ....system.in_thread import in_thread
from ..answers import DiagnosisAnswer, FindingRow, GroupRow, ProcessRow, Reply, StacksAnswer, ThreadRow
from ..bounds import MOST_OF_STACKS, bounded_text, joined, line, part_of, size_of
from ..crash import Crash, crash_in_core, crash_of, finding_of
from ..debuggee import Debuggee
from ..frames import Shown, note_of, shown
from ..registry import Arguments, tool
from ..sessions import Sessions
from ..wording import for_tools
from .fields import AllFrames, Limit, Start

_MOST_THREADS = 8  # of a group that are named
_MOST_PROCESSES = 20
_BETWEEN_LOOKS = 1.0  # seconds
# By whether one answer holds no more frames of a stack.
_DEEPER = {
    False: "deeper frames: a larger depth",
    True: "deeper frames, beyond what one answer holds: without locals, or stack(session=…, thread=…, start=…)",
}
_CALL = re.compile(r"\b(?:stacks|attach|run|diagnose)\(")
_MOST_TASKS = 10  # that are told where nothing looks wrong
_LONGEST = 1500  # characters of a finding


class TargetArguments(Arguments):
    """Exactly one of the first five says what is looked at."""

    pid: Annotated[int | None, Field(ge=1, description="a process")] = None
    tree: Annotated[int | None, Field(ge=1, description="a process and all that descend from it")] = None
    match: Annotated[
        str | None,
        Field(min_length=1, max_length=400, description="a job: processes with this in the command line"),
    ] = None
    core: Annotated[str | None, Field(max_length=4000, description="a core file")] = None
    session: Annotated[str | None, Field(max_length=20, description="the program of a session")] = None

    def chosen(self) -> str:
        """The one that is given, as it stands in a call. Raises UsageError for none and for several."""
        given = [
            name for name in ("pid", "tree", "match", "core", "session") if getattr(self, name) is not None
        ]
        if len(given) != 1:
            raise UsageError(
                f"one of pid, tree, match, core and session says what to look at, not {', '.join(given) or 'none'}",
                "for example stacks(pid=4711)",
            )
        return f"{given[0]}={getattr(self, given[0])!r}"


class StacksArguments(TargetArguments):
    locals: Annotated[bool, Field(description="arguments and locals of Python frames too")] = False
    start: Start = 0
    limit: Limit = 10
    depth: Annotated[int, Field(ge=1, le=100, description="frames of each stack")] = 12
    all_frames: AllFrames = False


@tool("stacks", "The stacks of all threads of processes", StacksArguments, StacksAnswer, looks=True)
async def stacks(sessions: Sessions, arguments: StacksArguments) -> Reply:
    """Where every thread of a process, a process tree, a job, a core file or a session is, in both languages. Equal
    stacks are told once, the rarest first. A process without a session is stopped for some milliseconds."""
    target = arguments.chosen()
    wanted = Wanted(locals=arguments.locals)
    reports, failures = await _reports(sessions, arguments, wanted)
    _refuse_unread(reports, failures, f"stacks({target})")
    call = f"stacks({target}, start={{start}})"
    return _groups(reports, failures, arguments, call)


@tool("diagnose", "What the threads wait for", TargetArguments, DiagnosisAnswer, looks=True)
async def diagnose_(sessions: Sessions, arguments: TargetArguments) -> Reply:
    """Say in words what the threads of a hung process, process tree, job, core file or session wait for: deadlocks,
    locks and who holds them, collectives that a rank never called, pipes and files, busy threads. Of a session
    at a crash: its address and variables. Looks again a second later where needed."""
    target = arguments.chosen()
    wanted = Wanted.to_diagnose()
    failures: list[Failure] = []
    reports: list[ProcessReport] = []
    crash: Crash | None = None
    held: int | None = None
    if arguments.session is not None:
        async with sessions.using(arguments.session) as debuggee:
            if debuggee.stopped:
                is_core = isinstance(debuggee.session, CoreSession)
                crash = await crash_of(debuggee.session)
                if crash is not None or is_core:  # a core's number may be that of another process now
                    reports = [await _of_session(debuggee)]
                elif debuggee.session.state is State.PYTHON_STOPPED:
                    held = debuggee.thread(None)
    if reports:
        findings = [finding_of(crash)] if crash is not None else []
    elif arguments.core is not None:
        reports = [await _of_core(arguments.core, wanted)]
        died = await in_thread(crash_in_core, arguments.core, reports[0])
        findings = [finding_of(died)] if died is not None else await in_thread(diagnose, reports)
    else:
        async with _processes(sessions, arguments) as pids:
            reports, failures = await _outside(sessions, pids, wanted)
            findings = await _findings(sessions, reports)
            if one_look_cannot_tell(reports, findings):
                earlier = Earlier(reports, _BETWEEN_LOOKS)
                await asyncio.sleep(_BETWEEN_LOOKS)
                reports, failures = await _outside(sessions, pids, wanted)
                findings = await _findings(sessions, reports, earlier)
    _refuse_unread(reports, failures, f"diagnose({target})")
    failures = _in_tools(failures)
    # A thread that the debugger holds waits for the debugger, which is nothing that looks wrong.
    findings = [one for one in findings if held is None or {tid for _, tid in one.threads} != {held}]
    rows, part = part_of(findings, 0, 20)
    tasks = [] if findings else [_task(task) for one in reports if one.tasks for task in one.tasks.tasks]
    answer = DiagnosisAnswer(
        tasks=tasks[:_MOST_TASKS],
        findings=[_finding(row, reports) for row in rows],
        failures=_failures(failures),
        next=_after_diagnosis(target, arguments, crash),
        left_out=joined(
            f"{part.left} more findings, less grave: narrow it to one process" if part.left else None,
            f"{len(tasks) - _MOST_TASKS} more tasks" if len(tasks) > _MOST_TASKS else None,
        ),
    )
    listing = StackListing(Style())
    text = listing.findings(rows, reports) + "".join(map(listing.failure, failures))
    text += "".join(f"task {one}\n" for one in answer.tasks) + f"{answer.next}\n"
    return Reply(answer, bounded_text(text))


def _refuse_unread(reports: Sequence[ProcessReport], failures: Sequence[Failure], call: str) -> None:
    """Where nothing could be read there is no answer. Raises TargetError, which says what to call then."""
    if reports or not failures:
        return
    first, others = failures[0], len(failures) - 1
    more = f" (nor were {others} other processes)" if others else ""
    hint = for_tools(first.hint)
    if not _CALL.search(hint):
        hint = f"{hint}; then {call} again" if hint else f"{call} again"
    raise TargetError(f"process {first.pid} was not read{more}: {first.message}", hint)


def _after_diagnosis(target: str, arguments: TargetArguments, crash: Crash | None) -> str:
    session = arguments.session
    if crash is not None:
        return f"stack(session={session!r}), variables and source show its frames"
    of_crash = (
        f"; attach({target}), then diagnose its session, says more of a crash" if arguments.core else ""
    )
    return f"stacks({target}) shows where each thread is{of_crash}"


async def _findings(
    sessions: Sessions, reports: Sequence[ProcessReport], earlier: Earlier | None = None
) -> list[Finding]:
    stop = not any(sessions.traces(report.pid) for report in reports)

    def found() -> list[Finding]:
        return diagnose(reports, parents_of_forks(reports, stop=stop), earlier)

    return await in_thread(found)


async def _reports(
    sessions: Sessions, arguments: TargetArguments, wanted: Wanted
) -> tuple[list[ProcessReport], list[Failure]]:
    """The processes that are meant. The engines of a stopped session are asked, who know most of it."""
    if arguments.core is not None:
        return [await _of_core(arguments.core, wanted)], []
    if arguments.session is not None:
        async with sessions.using(arguments.session) as debuggee:
            if debuggee.stopped:
                return [await _of_session(debuggee)], []
    async with _processes(sessions, arguments) as pids:
        return await _outside(sessions, pids, wanted)


async def _of_core(path: str, wanted: Wanted) -> ProcessReport:
    return await in_thread(report_core, path, wanted, None, SourceLines())


@asynccontextmanager
async def _processes(sessions: Sessions, arguments: TargetArguments) -> AsyncIterator[Sequence[int]]:
    """The numbers of the processes that are meant. Nobody else uses a session that is meant meanwhile."""
    if arguments.session is not None:
        async with sessions.using(arguments.session) as debuggee:
            if debuggee.over:  # its number may be that of another process by now
                raise WrongState(f"the program of session {arguments.session} is over")
            yield [debuggee.session.pid]
        return
    trees = [arguments.tree] if arguments.tree is not None else []
    words = [str(arguments.pid)] if arguments.pid is not None else []
    words += [arguments.match] if arguments.match is not None else []
    yield await in_thread(find_targets, words, trees)


async def _outside(
    sessions: Sessions, pids: Sequence[int], wanted: Wanted
) -> tuple[list[ProcessReport], list[Failure]]:
    """Processes read through the kernel. A process that we trace cannot be stopped once more, and is read as it is."""
    lines = SourceLines()
    reports: list[ProcessReport] = []
    failures: list[Failure] = []
    for stop in (True, False):
        some = [pid for pid in pids if sessions.traces(pid) is not stop]
        held = {pid: one for pid in some if (one := await sessions.held(pid)) is not None}
        read, failed = await in_thread(_take, some, stop, wanted, lines, held)
        reports, failures = [*reports, *read], [*failures, *failed]
    if wanted.locks:
        reports = await in_thread(with_other_processes, reports)
    return reports, failures


def _take(
    pids: Sequence[int], stop: bool, wanted: Wanted, lines: SourceLines, held: Mapping[int, Held]
) -> tuple[list[ProcessReport], list[Failure]]:
    return take(pids, stop=stop, wanted=wanted, lines=lines, held=held)


async def _of_session(debuggee: Debuggee) -> ProcessReport:
    """The threads of a stopped session, as its engines see them."""
    inspector = debuggee.session.inspector
    try:
        python = inspector.reader.python_side.version()
    except TargetError:  # there is none yet, or it cannot be read
        python = None
    is_core = isinstance(debuggee.session, CoreSession)  # whose number may be that of another process now
    doing = {} if is_core else await in_thread(thread_states, debuggee.session.pid, await inspector.held())
    if debuggee.session.state is State.PYTHON_STOPPED:
        doing.pop(debuggee.thread(None), None)  # it waits for the debugger
    reports = []
    for thread in await inspector.threads():
        does = doing.get(thread.tid, Doing())
        stack = await inspector.stack(thread.tid)
        reports.append(ThreadReport(thread, stack, does.state, does.call))
    return ProcessReport(debuggee.session.pid, 0, debuggee.title, python, tuple(reports), None)


# -- answers -----------------------------------------------------------------------------------


def _groups(
    reports: Sequence[ProcessReport], failures: Sequence[Failure], arguments: StacksArguments, call: str
) -> Reply:
    failures = _in_tools(failures)
    groups = fold(reports)
    chosen, part = part_of(groups, arguments.start, arguments.limit)
    listing = StackListing(Style())
    processes = reports[:_MOST_PROCESSES]
    text = "".join(f"{listing.heading(report)}\n" for report in processes)
    rows: list[GroupRow] = []
    deeper, left = [], MOST_OF_STACKS
    for at, group in enumerate(chosen, arguments.start):
        row, stack = _group(group, arguments)
        left -= size_of(row)
        if rows and left < 0:
            break
        rows.append(row)
        text += f"\n{listing.group_heading(at, group, groups, len(reports) > 1)}\n{stack.as_text()}"
        if stack.part.left:
            text += f"     … {stack.part.left} more frames\n"
            deeper.append(len(stack.rows) < arguments.depth)
    answer = StacksAnswer(
        processes=[_process(report) for report in processes],
        groups=rows,
        failures=_failures(failures),
        left_out=joined(
            replace(part, shown=len(rows)).left_out("groups of threads", call),
            _DEEPER[any(deeper)] if deeper else None,
            f"{len(reports) - len(processes)} processes: stacks(pid=…)"
            if len(reports) > len(processes)
            else None,
        ),
    )
    text += "".join(map(listing.failure, failures))
    return Reply(answer, bounded_text(text + (f"left out: {answer.left_out}\n" if answer.left_out else "")))


def _group(group: Group, arguments: StacksArguments) -> tuple[GroupRow, Shown]:
    """A group of threads, and what is shown of its stack: as many frames as one answer holds."""
    example = group.example
    stack = shown(example.stack, 0, arguments.depth, arguments.all_frames, example.locals)
    note = note_of(example.stack)
    row = GroupRow(
        threads=[_thread(member) for member in group.members[:_MOST_THREADS]],
        thread_count=len(group.members),
        frames=[],
        frame_count=stack.part.total,
        note=None if note is None else line(note, 300),
    )
    stack = stack.within(MOST_OF_STACKS - size_of(row))
    row.frames = stack.as_rows()
    return row, stack


def _process(report: ProcessReport) -> ProcessRow:
    return ProcessRow(
        pid=report.pid,
        command=line(report.command),
        label=report.label,
        python=report.python,
        thread_count=len(report.threads),
        notes=[line(note) for note in report.notes[:3]],
    )


def _thread(member: Member) -> ThreadRow:
    thread = member.thread.thread
    return ThreadRow(
        pid=member.process.pid,
        tid=thread.tid,
        name=line(thread.python_name or thread.name),
        activity=line(activity(member.thread)) or thread.state,
        holds_gil=thread.holds_gil or None,
        waits_for_gil=thread.waits_for_gil or None,
    )


def _finding(finding: Finding, reports: Sequence[ProcessReport]) -> FindingRow:
    members = {
        (report.pid, one.thread.tid): Member(report, one) for report in reports for one in report.threads
    }
    known = [members[node] for node in finding.threads[:_MOST_THREADS] if node in members]
    return FindingRow(
        kind=finding.kind, text=finding.text[:_LONGEST], threads=[_thread(member) for member in known]
    )


def _task(task: Task) -> str:
    """``Task-1: main, waits for a future, in main (app.py:7)``."""
    own = next((frame for frame in task.frames if not is_of_a_library(frame.file or "")), None)
    parts = [f"{task.name}: {task.coroutine}"]
    parts += [f"waits for {task.waits_for}"] if task.waits_for else []
    parts += [f"in {place(own)}"] if own is not None else []
    return line(", ".join(parts), 300)


def _in_tools(failures: Sequence[Failure]) -> list[Failure]:
    return [
        replace(one, message=for_tools(one.message), hint=for_tools(one.hint))
        for one in failures[:_MOST_PROCESSES]
    ]


def _failures(failures: Sequence[Failure]) -> list[str]:
    return [line(f"process {one.pid}: {one.message}; {one.hint}", 500) for one in failures]
