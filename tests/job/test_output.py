"""A job as text, JSON and HTML: all say the same, the schema accepts it, and nothing in it controls what shows it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dualdbg.cli.snapshot_json import ranks_to_json
from dualdbg.console.style import Style
from dualdbg.errors import UsageError
from dualdbg.model import PythonFrame, Quality, Stack, Thread
from dualdbg.plugins.job.answers import Missing
from dualdbg.plugins.job.command import main
from dualdbg.plugins.job.gathering import Seen, Unread
from dualdbg.plugins.job.html import job_html
from dualdbg.plugins.job.json_form import job_to_json
from dualdbg.plugins.job.report import JobReport
from dualdbg.plugins.job.text import job_text, troubles
from dualdbg.plugins.job.verdict import judge
from dualdbg.snapshot.facts import Collective, Distributed, ProcessGroup, ProcessReport, ThreadReport
from dualdbg.snapshot.report.waits import Earlier

from ..support import ROOT
from .test_screen import job as stacks
from .test_screen import tree
from .test_verdict import hang
from .test_verdict import job as members

EVIL = "\x1b[2J<script>alert(1)</script>"


def report() -> JobReport:
    """With something of everything."""
    job = members(*hang())
    job.root = tree(stacks())
    job.files, job.others, job.failures, job.findings = (
        2,
        1,
        [Unread(f"node9, line 3: {EVIL}", f"type {EVIL}")],
        [Seen("node1", f"a lock\n{EVIL}")],
    )
    missing = Missing(("node7", "node8"), "no answer within 60 s", "--timeout 120", (EVIL,))
    return JobReport(job, judge(job), "ssh:node[1-9]", 9, (missing,), True)


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    text = json.loads((ROOT / "docs" / "jobs.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(text)
    return jsonschema.Draft202012Validator(text)


def described(schema: jsonschema.Draft202012Validator, event: dict[str, Any]) -> set[str]:
    return set(schema.schema["$defs"][f"event-{event['event']}"]["properties"])


def test_the_schema_knows_every_event_and_field(schema: jsonschema.Draft202012Validator) -> None:
    events = job_to_json(report())
    for event in events:
        schema.validate(json.loads(json.dumps(event)))
        assert set(event) == described(schema, event)
    known = {row["$ref"].rpartition("event-")[2] for row in schema.schema["oneOf"]}
    assert {event["event"] for event in events} == known - {"rank"}
    assert not schema.is_valid({**events[0], "looks": "never"})


def process(sequence: int) -> ProcessReport:
    """A rank that waits in an all_reduce."""
    call = Collective("all_reduce", "0", sequence, "running", (2, 3), "float32", 24, None, 8)
    found = Distributed(3, 4, (ProcessGroup("0", 3, 4, "gloo", sequence),), (call,))
    frame = PythonFrame("step", "/job/train.py", 12)
    thread = ThreadReport(Thread(8, "python"), Stack(8, (frame,), Quality.FULL), "S")
    return ProcessReport(8, 1, "python train.py", "3.11", (thread,), 0.01, label="rank 3", distributed=found)


def test_the_schema_knows_what_stacks_says_of_a_rank(schema: jsonschema.Draft202012Validator) -> None:
    once, twice = (
        ranks_to_json([process(5)], None, 9.0),
        ranks_to_json([process(5)], Earlier([process(4)], 1.0), 9.0),
    )
    for (event,) in (once, twice):
        schema.validate(json.loads(json.dumps(event)))
        assert set(event) == described(schema, event)
    assert once[0]["earlier"] is None and twice[0]["earlier"]["collectives"][0]["sequence"] == 4
    assert once[0]["stack"] == twice[0]["earlier"]["stack"]


def test_the_text_names_what_is_missing_and_what_to_type() -> None:
    text = "\n".join(troubles(report(), Style(False))) + job_text(report(), Style(False), 40)
    assert "dualdbg: node7, node8: no answer within 60 s" in text and "--timeout 120" in text
    assert "8 ranks on 7 of 9 nodes" in text and "interrupted" in text
    assert "from one look" in text and "rank 2 (process 7 on node2) has not called all_reduce" in text
    assert text.isprintable() or all(part.isprintable() for part in text.split("\n"))


def test_a_rank_of_which_nothing_is_known_is_told() -> None:
    known = members(*[each for each in hang() if each["rank"] != 2])
    known.root.ranks = {0, 1, 2, 3}
    text = job_text(JobReport(known, judge(known)), Style(False), 40)
    assert "others wait, but what rank 2 did then was not read: dualdbg stacks --diagnose reads it" in text
    assert "ended" not in text


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes.update(name for name, _ in attrs)


def test_the_page_fetches_and_runs_nothing() -> None:
    text = job_html(report())
    tags = Tags()
    tags.feed(text)
    assert not tags.seen & {"script", "link", "img", "iframe", "object", "a", "form"}
    assert not {name for name in tags.attributes if name.startswith("on") or name in ("src", "href")}
    assert "\x1b" not in text and "default-src 'none'" in text
    for told in (
        "8 ranks on 7 of 9 nodes",
        "1 rank: 6",
        "evaluate",
        "node7, node8",
        "has not called all_reduce",
    ):
        assert told in text


def test_a_page_that_is_there_stays_where_nobody_answers(tmp_path: Path) -> None:
    old = tmp_path / "old.html"
    old.write_text("old")
    for name in ("old.html", "new.html"):
        with pytest.raises(UsageError):
            main(["--via", "telepathy:a", "--html", str(tmp_path / name)])
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("old.html", "old")]
