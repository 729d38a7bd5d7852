"""What a node sends has each stack once, and says of the job what the whole objects say: pure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dualdbg.plugins.job.gathering import Job, gather
from dualdbg.plugins.job.recorded import Source
from dualdbg.plugins.job.tree import rows
from dualdbg.snapshot.merged import merged
from dualdbg.snapshot.packed import pack


def frame(number: int | None, function: str | None, address: int) -> dict[str, Any]:
    is_python = function is not None and function.startswith("py")
    return {
        "kind": "python" if is_python else "native",
        "function": function,
        "file": "/job/train.py" if is_python else None,
        "line": 7 if is_python else None,
        "library": None if is_python else "/lib/libx.so",
        "address": f"{address:#x}",
        "role": "user",
        "number": number,
        "locals": None,
    }


def process(rank: int) -> dict[str, Any]:
    """Libraries lie elsewhere in each process."""
    base = 0x7F00_0000_0000 + rank * 0x5000
    main = [frame(0, None, base + 0x123), frame(None, "plumbing", base), frame(1, "pystep", base)]
    pool = [frame(0, "wait", base + 0x10)]
    threads = [{"tid": 10 * rank + at, "name": "t", "frames": main if at == 0 else pool} for at in range(4)]
    return {
        "event": "process",
        "pid": rank + 100,
        "parent": 1,
        "label": f"rank {rank}",
        "python": "3.11",
        "threads": threads,
    }


def gathered(folder: Path, text: str, is_sent: bool) -> Job:
    path = folder / f"{is_sent}"
    path.write_text(text)
    return gather([Source("node", path, is_sent)], True)


def test_the_tree_is_the_same(tmp_path: Path) -> None:
    objects = [*map(process, range(8)), {"event": "finding", "kind": "gil", "text": "two threads wait"}]
    sent = [*merged(objects)]
    assert [len(one["stacks"]) for one in sent if one["event"] == "stacks"] == [2]
    text, small = ("".join(json.dumps(each) + "\n" for each in those) for those in (objects, sent))
    assert len(small) < len(text) / 4
    whole, part = gathered(tmp_path, text, False), gathered(tmp_path, pack(small, "1"), True)
    assert whole.failures == part.failures == []
    assert list(rows(whole.root)) == list(rows(part.root)) and part.ranks == set(range(8))
    assert [each.text for each in part.findings] == ["two threads wait"]
    offsets = {place.offset for row in rows(part.root) for place in row.places if place.function is None}
    assert offsets == {0x123}


def test_a_stack_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for number in (-1, 2, 1 << 70):
        sent = [*merged([process(0)])]
        sent[1]["threads"][0]["stack"] = number
        (failure,) = gathered(tmp_path, "".join(json.dumps(each) + "\n" for each in sent), False).failures
        assert "line 2" in failure.text and "a stack that is not there" in failure.text
