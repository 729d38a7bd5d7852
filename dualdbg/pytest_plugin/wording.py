"""From an incident to what a report of pytest says of it: the stacks without pytest's own frames, and one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..cli.incident_text import incident_text
from ..model import PythonFrame
from ..snapshot.facts import ThreadReport
from ..watch.incident import Incident
from . import page
from .records import Record

# Frames of these folders call the user's tests; all that is further out is pytest's own.
_RUNNERS = ("/_pytest/", "/pluggy/", "/xdist/")
_TALK = "execnet/"


def record_of(
    incident: Incident, number: int, owner: int, doing: page.Doing, seconds: float, rootpath: Path
) -> Record:
    """The record of what happened to a process while ``owner`` was ``doing`` something."""
    test = rootpath / doing.what.split("::")[0]
    line = _line_in(incident, str(test))
    incident = _without_runner(incident)
    is_child = incident.pid != owner
    subject = f"process {incident.pid}, which the test has forked," if is_child else f"process {incident.pid}"
    text = incident_text(incident, subject, whole=False)
    return Record(
        number,
        owner,
        incident.pid,
        doing.what,
        doing.phase,
        incident.summary,
        text,
        is_child,
        str(test) if doing.what else None,
        line,
        seconds,
        [list(row) for row in incident.output],
    )


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
    frames = thread.stack.frames
    runners = (
        at
        for at, frame in enumerate(frames)
        if isinstance(frame, PythonFrame) and any(one in (frame.file or "") for one in _RUNNERS)
    )
    cut = next(runners, 0)
    if cut == 0:  # none of pytest's, or nothing but pytest's
        return thread
    variables = {position: rows for position, rows in thread.locals.items() if position < cut}
    return replace(thread, stack=replace(thread.stack, frames=frames[:cut]), locals=variables)
