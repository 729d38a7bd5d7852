"""A crash or a hang as text for people and as JSON. Pure: the style is given."""

from __future__ import annotations

import shlex
from typing import Any

from ..console.style import Style
from ..stack_listing import StackListing
from ..system.terminal_text import visible, visible_text
from ..watch.incident import Incident
from .snapshot_json import failure_to_json, finding_to_json, process_to_json

_PLAIN = Style()


def incident_text(incident: Incident, subject: str, style: Style = _PLAIN, *, whole: bool = True) -> str:
    """What happened, then the stacks. ``subject`` begins the first sentence. ``whole``: with output and libraries."""
    listing = StackListing(style)
    parts = [style.paint("error", visible(f"{subject} {incident.title}")) + "\n"]
    if incident.findings is not None:
        parts.append(listing.findings(incident.findings, incident.processes).rstrip("\n") + "\n")
    if incident.processes:
        parts.append(listing.processes(incident.processes, first=incident.tid))
        if any(report.tasks is not None and report.tasks.tasks for report in incident.processes):
            parts.append(listing.tasks(incident.processes).lstrip("\n"))
    parts += [listing.failure(failure) for failure in incident.failures]
    if incident.core is not None:
        parts.append(f"the core: dualdbg core {shlex.quote(visible(incident.core))}\n")
    if whole:
        parts += [f"The last of {name}\n{_indented(text)}" for name, text in incident.output]
        versions = ", ".join(f"{name} {version}" for name, version in incident.versions.items())
        parts.append(visible(versions) + "\n")
        rows = [f"  {library.build_id or 'no build-id':40}  {library.path}" for library in incident.libraries]
        if rows:
            parts.append("\n".join(["Libraries, by build-id", *map(visible, rows)]) + "\n")
    return "\n".join(parts)


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in visible_text(text).splitlines())


def incident_to_json(incident: Incident, subject: str) -> dict[str, Any]:
    """The published form; fields may be added, never renamed."""
    return {
        "event": "incident",
        "kind": incident.kind,
        "text": f"{subject} {incident.title}",
        "place": incident.place,
        "pid": incident.pid,
        "tid": incident.tid,
        "signal": incident.signal,
        "findings": [finding_to_json(finding) for finding in incident.findings or ()],
        "processes": [process_to_json(report) for report in incident.processes],
        "failures": [failure_to_json(failure) for failure in incident.failures],
        "output": dict(incident.output),
        "versions": incident.versions,
        "libraries": [{"path": row.path, "build_id": row.build_id} for row in incident.libraries],
        "core": incident.core,
    }
