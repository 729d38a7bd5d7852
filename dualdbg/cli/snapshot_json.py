"""Snapshots as JSON objects, the published form. Pure; ``dualdbg/stack_listing.py`` makes text of the same."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..console.reports import numbered
from ..snapshot.facts import Distributed, Failure, ProcessReport, ThreadReport
from ..snapshot.report.diagnose import Finding
from ..snapshot.report.movement import Movement
from ..snapshot.report.wording import activity
from .json_lines import frame_to_json, task_to_json


def process_to_json(report: ProcessReport) -> dict[str, Any]:
    """The published form; fields may be added, never renamed."""
    return {
        "event": "process",
        "pid": report.pid,
        "parent": report.parent,
        "command": report.command,
        "label": report.label,
        "python": report.python,
        "stopped_ms": None if report.stopped is None else round(report.stopped * 1000, 3),
        "torn": report.torn,
        "notes": list(report.notes),
        "threads": [_thread_to_json(thread) for thread in report.threads],
        "tasks": None if report.tasks is None else [task_to_json(task) for task in report.tasks.tasks],
        "task_notes": [] if report.tasks is None else list(report.tasks.notes),
        **distributed_to_json(report.distributed),
    }


def distributed_to_json(found: Distributed | None) -> dict[str, Any]:
    """The keys of a process that uses torch.distributed; none for another."""
    if found is None:
        return {}
    return {
        "rank": found.rank,
        "world_size": found.world_size,
        "groups": [asdict(group) for group in found.groups],
        "collectives": [asdict(call) for call in found.collectives],
        "distributed_notes": list(found.notes),
    }


def _thread_to_json(report: ThreadReport) -> dict[str, Any]:
    thread, call = report.thread, report.system_call
    return {
        "tid": thread.tid,
        "name": thread.name,
        "python_name": thread.python_name,
        "holds_gil": thread.holds_gil,
        "waits_for_gil": thread.waits_for_gil,
        "state": report.state,
        "activity": activity(report),
        "system_call": None
        if call is None
        else {
            "name": call.name,
            "arguments": [f"{argument:#x}" for argument in call.arguments],
            "descriptor": None
            if call.descriptor is None
            else {"number": call.descriptor.number, "target": call.descriptor.target},
        },
        "quality": report.stack.quality.value,
        "note": report.stack.note,
        "frames": [
            {
                **(frame_to_json(frame) or {}),
                "number": number,
                "locals": dict(report.locals[position]) if position in report.locals else None,
            }
            for position, (number, frame) in enumerate(numbered(report.stack, True))
        ],
    }


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """The JSON object of one finding: its kind, its text, and the threads that it is about."""
    return {
        "event": "finding",
        "kind": finding.kind,
        "text": finding.text,
        "threads": [{"pid": pid, "tid": tid} for pid, tid in finding.threads],
        "tasks": [{"pid": pid, "id": f"{address:#x}"} for pid, address in finding.tasks],
    }


def movement_to_json(row: Movement) -> dict[str, Any]:
    """The JSON object of one thread's movement: at how many of the ``samples`` it was at each place."""
    return {
        "event": "movement",
        "pid": row.pid,
        "tid": row.tid,
        "name": row.name,
        "moved": row.moved,
        "stacks": row.stacks,
        "samples": row.samples,
        "places": [{"place": place, "samples": count} for place, count in row.places],
    }


def failure_to_json(failure: Failure) -> dict[str, Any]:
    """The JSON object of a process that could not be read, with the reason and the hint."""
    return {"event": "error", "pid": failure.pid, "message": failure.message, "hint": failure.hint}
