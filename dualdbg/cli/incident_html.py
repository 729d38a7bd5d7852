"""A crash or a hang as one HTML file, which fetches nothing and runs nothing. Pure."""

from __future__ import annotations

from html import escape

from ..console.reports import numbered
from ..model import Frame, NativeFrame, PythonFrame, Role
from ..snapshot.facts import ProcessReport, ThreadReport
from ..snapshot.report.wording import activity
from ..terminal_text import visible, visible_text
from ..watch.incident import Incident

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }}
h1 {{ font-size: 1.3rem }} h2 {{ font-size: 1.05rem; margin: 1.5rem 0 .4rem }}
pre, td, code {{ font: 13px/1.5 ui-monospace, monospace }}
pre {{ overflow-x: auto; padding: .6rem; border: 1px solid #8886; border-radius: .3rem; white-space: pre-wrap }}
table {{ border-collapse: collapse }} td {{ padding: 0 .8rem 0 0; vertical-align: top; overflow-wrap: anywhere }}
summary {{ cursor: pointer; margin: .3rem 0 }}
.crashed > summary {{ font-weight: bold }}
.python {{ color: #0a7d32 }} .native {{ color: #0b6a8f }} .glue, .place, .plumbing {{ color: #777 }}
@media (prefers-color-scheme: dark) {{ .python {{ color: #5fd38a }} .native {{ color: #62c6ea }} }}
.variables td:first-child {{ padding-left: 4rem }}
</style>
</head>
<body>
"""


def incident_html(incident: Incident, subject: str) -> str:
    """The whole file. ``subject`` begins the title."""
    title = f"{subject} {incident.title}"
    parts = [_HEAD.format(title=_one(title)), f"<h1>{_one(title)}</h1>"]
    if incident.place:
        parts.append(f"<p>in <code>{_one(incident.place)}</code></p>")
    if incident.findings:
        parts.append("<h2>What is seen</h2>")
        parts += [f"<pre>{_several(finding.text)}</pre>" for finding in incident.findings]
    for report in incident.processes:
        parts += _process(report, incident.tid)
    parts += [f"<p>Process {one.pid} was not read: {_one(one.message)}</p>" for one in incident.failures]
    if incident.core is not None:
        parts.append(f"<p>The core: <code>{_one(incident.core)}</code></p>")
    for name, text in incident.output:
        parts.append(f"<h2>The last of {_one(name)}</h2><pre>{_several(text)}</pre>")
    parts.append("<h2>Versions</h2>" + _table(list(incident.versions.items())))
    if incident.libraries:
        rows = [(library.build_id or "no build-id", library.path) for library in incident.libraries]
        parts.append(
            f"<h2>Libraries, by build-id</h2><details><summary>{len(rows)}</summary>{_table(rows)}</details>"
        )
    return "\n".join([*parts, "</body>", "</html>", ""])


def _process(report: ProcessReport, crashed: int | None) -> list[str]:
    python = f"Python {report.python}" if report.python else "no Python"
    parts = [f"<h2>Process {report.pid}: {_one(report.command)}</h2>", f"<p>{_one(python)}</p>"]
    parts += [f"<p>{_one(note)}</p>" for note in report.notes]
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
    for number, frame in numbered(report.stack, False):
        rows.append(_frame(number, frame))
        variables = report.locals.get(positions[id(frame)], ())
        if variables:
            rows.append(f'<tr><td></td><td colspan="2">{_table(list(variables), "variables")}</td></tr>')
    note = f"<p>{_one(report.stack.note)}</p>" if report.stack.note else ""
    attributes = (' class="crashed"' if has_crashed else "") + (" open" if is_open else "")
    return (
        f"<details{attributes}><summary>{_one(heading)}</summary>"
        f"<table>{''.join(rows)}</table>{note}</details>"
    )


def _frame(number: int | None, frame: Frame) -> str:
    kind = "python" if isinstance(frame, PythonFrame) else "native"
    if frame.role is not Role.USER:
        kind = frame.role.value
    place = f"{frame.file}:{frame.line}" if frame.file else ""
    if not place and isinstance(frame, NativeFrame):
        place = frame.library or ""
    head = f"#{number}" if number is not None else ""
    return (
        f'<tr><td>{head}</td><td class="{kind}">{_one(frame.function or "??")}</td>'
        f'<td class="place">{_one(place)}</td></tr>'
    )


def _table(rows: list[tuple[str, str]], kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    cells = "".join(f"<tr><td>{_one(name)}</td><td>{_one(value)}</td></tr>" for name, value in rows)
    return f"<table{attribute}>{cells}</table>"


def _one(text: str) -> str:
    return escape(visible(text))


def _several(text: str) -> str:
    return escape(visible_text(text))
