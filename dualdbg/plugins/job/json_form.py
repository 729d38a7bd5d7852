"""A job as JSON objects, the published form (docs/jobs.schema.json). Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...snapshot.report.fold import ranges
from .report import JobReport
from .tree import rows


def job_to_json(report: JobReport) -> list[dict[str, Any]]:
    """One object a line; fields and events may be added, never renamed."""
    job, judgement = report.job, report.judgement
    answered, asked = report.answered
    head = {
        "event": "job",
        "via": report.via,
        "ranks": ranges(sorted(job.ranks)),
        "count": len(job.ranks),
        "world_size": job.world_size,
        "missing": job.missing,
        "twice": ranges(sorted(job.twice)),
        "numbered": job.is_numbered,
        "others": job.others,
        "launchers": job.launchers,
        "sources": asked,
        "answered": answered,
        "interrupted": report.interrupted,
        "looks": judgement.looks.value,
        "ambiguous": judgement.is_ambiguous,
        "unknown": ranges(sorted(judgement.others)),
    }
    return [
        head,
        *(
            {
                "event": "missing",
                "nodes": list(row.nodes),
                "reason": row.reason,
                "hint": row.hint,
                "details": list(row.details),
            }
            for row in report.missing
        ),
        *({"event": "failure", "text": each.text, "hint": each.hint} for each in job.failures),
        *(
            {
                "event": "verdict",
                "kind": verdict.kind,
                "ranks": list(verdict.ranks),
                "place": verdict.place,
                "text": verdict.text,
            }
            for verdict in judgement.verdicts
        ),
        *({"event": "finding", "source": each.source, "text": each.text} for each in job.findings),
        *(
            {
                "event": "places",
                "depth": row.depth,
                "ranks": row.ranks.replace(",", ", "),
                "count": row.count,
                "places": [asdict(place) for place in row.places],
            }
            for row in rows(job.root)
        ),
    ]
