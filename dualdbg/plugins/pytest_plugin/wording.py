"""From an incident to what a report of pytest says of it: the stacks without pytest's own frames, and one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...cli.incident_text import incident_text
from ...model import PythonFrame
from ...snapshot.facts import ThreadReport
from ...system.terminal_text import visible
from ...watch.incident import Incident
from . import page
from .records import Record

# Frames of these folders call the user's tests; all that is further out is pytest's own.
_RUNNERS = ("/_pytest/", "/pluggy/", "/xdist/")
_PHASES = {
    "pytest_runtest_setup": page.SETUP,
    "pytest_runtest_call": page.CALL,
    "pytest_runtest_teardown": page.TEARDOWN,
}
_TALK = "execnet/"
_OF_ASSERTS = "@py"  # _pytest/assertion/rewrite.py


def record_of(
    incident: Incident, number: int, owner: int, doing: page.Doing, seconds: float, rootpath: Path
) -> Record:
    """The record of what happened to a process while ``owner`` was ``doing`` something."""
    test = rootpath / doing.what.split("::")[0]
    line = _line_in(incident, str(test))
    phase = _phase_in(incident, owner) if doing.is_test else None
    incident = _without_runner(incident)
    is_child = incident.pid != owner
    subject = f"process {incident.pid}, a child of the test," if is_child else f"process {incident.pid}"
    text = incident_text(incident, subject, whole=False)
    return Record(
        number,
        owner,
        incident.pid,
        doing.what,
        doing.phase if phase is None else phase,
        visible(incident.summary),
        text,
        is_child,
        str(test) if doing.what else None,
        line,
        seconds,
        [list(row) for row in incident.output],
    )


def _phase_in(incident: Incident, owner: int) -> int | None:
    """In which phase of its test the process is, as its stack says: plugins report phases when all are over."""
    for report in incident.processes:
        for thread in report.threads if report.pid == owner else ():
            for frame in thread.stack.frames:
                if isinstance(frame, PythonFrame) and (frame.file or "").endswith("_pytest/runner.py"):
                    phase = _PHASES.get(frame.function)
                    if phase is not None:
                        return phase
    return None


def _line_in(incident: Incident, file: str) -> int | None:
    """Where the thread that matters stood in a file."""
    threads = [thread for report in incident.processes for thread in report.threads]
    if incident.tid is not None:
        threads.sort(key=lambda thread: thread.thread.tid != incident.tid)
    for thread in threads:
        for frame in thread.stack.frames:
            if isinstance(frame, PythonFrame) and frame.file == file:
                return frame.line
    return None


def _without_runner(incident: Incident) -> Incident:
    """What the user's tests do: without the frames that call them, and the threads that talk to a controller."""
    processes = tuple(
        replace(report, threads=tuple(_inner(thread) for thread in report.threads if not _is_workers(thread)))
        for report in incident.processes
    )
    if incident.findings is None:
        return replace(incident, processes=processes)
    left = {(report.pid, thread.thread.tid) for report in processes for thread in report.threads}
    findings = tuple(one for one in incident.findings if not one.threads or left & set(one.threads))
    return replace(incident, processes=processes, findings=findings)


def _is_workers(thread: ThreadReport) -> bool:
    """Whether a thread is one in which a worker of pytest-xdist hears its controller."""
    files = [frame.file or "" for frame in thread.stack.frames if isinstance(frame, PythonFrame)]
    return bool(files) and all(file.startswith(_TALK) or f"/{_TALK}" in file for file in files)


def _inner(thread: ThreadReport) -> ThreadReport:
    """Without the frames that call the test, and the variables that the rewriting of its asserts has made."""
    frames = thread.stack.frames
    runners = (
        at
        for at, frame in enumerate(frames)
        if isinstance(frame, PythonFrame) and any(one in (frame.file or "") for one in _RUNNERS)
    )
    end = next(runners, 0) or len(frames)  # nothing but pytest's own: all of it
    variables = {
        at: tuple(row for row in rows if not row[0].startswith(_OF_ASSERTS))
        for at, rows in thread.locals.items()
        if at < end
    }
    return replace(thread, stack=replace(thread.stack, frames=frames[:end]), locals=variables)
