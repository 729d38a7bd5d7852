"""Snapshots as JSON objects, the published form. Pure; ``dualdbg/stack_listing.py`` makes text of the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..console.reports import numbered
from ..snapshot.facts import Distributed, Failure, ProcessReport, ThreadReport
from ..snapshot.report.collectives import Member
from ..snapshot.report.finding import Finding
from ..snapshot.report.jobs import member_of, rank_processes
from ..snapshot.report.movement import Movement
from ..snapshot.report.standing import digest
from ..snapshot.report.waits import Earlier
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
            "sleep": None if call.sleep is None else asdict(call.sleep),
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


def ranks_to_json(
    processes: Sequence[ProcessReport], earlier: Earlier | None, now: float
) -> list[dict[str, Any]]:
    """The JSON objects of the ranks of jobs: what tells, over the files of all machines, who holds a job up.

    ``now``: seconds since 1970.
    """
    before = {process.pid: process for process in earlier.processes if process.threads} if earlier else {}
    return [
        {
            "event": "rank",
            "pid": process.pid,
            "time": round(now, 3),
            **_member_to_json(member_of(process)),
            "earlier": {
                "seconds": round(earlier.until(process), 3),
                **_member_to_json(member_of(before[process.pid])),
            }
            if earlier is not None and process.pid in before
            else None,
        }
        for process in rank_processes(processes)
    ]


def _member_to_json(member: Member) -> dict[str, Any]:
    return {
        "rank": member.rank,
        "world_size": member.world_size,
        "place": member.place,
        "activity": member.activity,
        "blocked": member.blocked,
        "spins": member.spins,
        "stack": digest(member.stack),
        "cpu": member.cpu,
        "standing": None if member.standing is None else asdict(member.standing),
        "groups": [asdict(group) for group in member.distributed.groups],
        "collectives": [asdict(call) for call in member.distributed.collectives],
    }


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """The JSON object of one finding: its kind, its text, the threads that it is about, and those of them that wait,
    as they stood; what tells, after a second look, whether they have moved."""
    return {
        "event": "finding",
        "kind": finding.kind,
        "text": finding.text,
        "threads": [{"pid": pid, "tid": tid} for pid, tid in finding.threads],
        "tasks": [{"pid": pid, "id": f"{address:#x}"} for pid, address in finding.tasks],
        "waiting": [asdict(each) for each in finding.waiting],
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
