"""A crash or a hang as one HTML file, which fetches nothing and runs nothing. Pure."""

from __future__ import annotations

from pathlib import PurePath

from ..console.reports import numbered
from ..model import Frame, NativeFrame, PythonFrame, Role
from ..snapshot.facts import ProcessReport, ThreadReport
from ..snapshot.report.fold import shown_runs
from ..snapshot.report.wording import activity
from ..watch.incident import Incident
from .html_page import one, page, several, table


def incident_html(incident: Incident, subject: str) -> str:
    """The whole file. ``subject`` begins the title."""
    title = f"{subject} {incident.title}"
    parts = []
    if incident.place:
        parts.append(f"<p>in <code>{one(incident.place)}</code></p>")
    if incident.findings:
        parts.append("<h2>What is seen</h2>")
        parts += [f"<pre>{several(finding.text)}</pre>" for finding in incident.findings]
    for report in incident.processes:
        parts += _process(report, incident.tid)
    parts += [f"<p>Process {each.pid} was not read: {one(each.message)}</p>" for each in incident.failures]
    if incident.core is not None:
        parts.append(f"<p>The core: <code>{one(incident.core)}</code></p>")
    for name, text in incident.output:
        parts.append(f"<h2>The last of {one(name)}</h2><pre>{several(text)}</pre>")
    parts.append("<h2>Versions</h2>" + table(list(incident.versions.items())))
    if incident.libraries:
        rows = [(library.build_id or "no build-id", library.path) for library in incident.libraries]
        parts.append(
            f"<h2>Libraries, by build-id</h2><details><summary>{len(rows)}</summary>{table(rows)}</details>"
        )
    return page(title, parts)


def _process(report: ProcessReport, crashed: int | None) -> list[str]:
    python = f"Python {report.python}" if report.python else "no Python"
    parts = [f"<h2>Process {report.pid}: {one(report.command)}</h2>", f"<p>{one(python)}</p>"]
    parts += [f"<p>{one(note)}</p>" for note in report.notes]
    threads = sorted(report.threads, key=lambda thread: thread.thread.tid != crashed)
    return parts + [
        _thread(thread, at == 0, thread.thread.tid == crashed) for at, thread in enumerate(threads)
    ]


def _thread(report: ThreadReport, is_open: bool, has_crashed: bool) -> str:
    name = report.thread.python_name or report.thread.name
    states = activity(report)
    heading = f"thread {report.thread.tid} {name}" + (f": {states}" if states else "")
    positions = {id(frame): at for at, frame in enumerate(report.stack.frames)}
    rows = []
    frames = numbered(report.stack, False)
    for run, left_out in shown_runs([frame for _, frame in frames]):
        for number, frame in frames[run.start : run.start + run.period]:
            rows.append(_frame(number, frame))
            variables = report.locals.get(positions[id(frame)], ())
            if variables:
                rows.append(f'<tr><td></td><td colspan="2">{table(list(variables), "variables")}</td></tr>')
        if left_out:
            rows.append(f'<tr><td></td><td colspan="2">{one(left_out)}</td></tr>')
    note = f"<p>{one(report.stack.note)}</p>" if report.stack.note else ""
    attributes = (' class="crashed"' if has_crashed else "") + (" open" if is_open else "")
    return (
        f"<details{attributes}><summary>{one(heading)}</summary>"
        f"<table>{''.join(rows)}</table>{note}</details>"
    )


def _frame(number: int | None, frame: Frame) -> str:
    kind = "python" if isinstance(frame, PythonFrame) else "native"
    if frame.role is not Role.USER:
        kind = frame.role.value
    place = title = f"{frame.file}:{frame.line}" if frame.file else ""
    if not place and isinstance(frame, NativeFrame):
        title = frame.library or ""
        place = PurePath(title).name
    head = f"#{number}" if number is not None else ""
    return (
        f'<tr><td>{head}</td><td class="{kind}">{one(frame.label)}</td>'
        f'<td class="place" title="{one(title)}">{one(place)}</td></tr>'
    )
