"""``dualdbg ps``: which Python processes there are."""

from __future__ import annotations

import json
import subprocess

from tests.snapshot.programs_running import running
from tests.snapshot.test_command import dualdbg


def test_a_process_is_listed() -> None:
    with running("busy.py") as pid:
        done = dualdbg("ps", "--json")
        rows = {row["pid"]: row for row in map(json.loads, done.stdout.splitlines())}
        row = rows[pid]
        assert row["threads"] == 2
        assert row["can"] == ["stacks", "attach"]
        assert row["refusal"] is None
        assert not row["torch"]
        assert "busy.py" in row["command"]
        assert 0 < row["cpu"] < 10
        table = dualdbg("ps").stdout
        assert any(line.split()[0] == str(pid) for line in table.splitlines())


def test_other_programs_are_not() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            rows = [json.loads(line) for line in dualdbg("ps", "--json").stdout.splitlines()]
            assert process.pid not in [row["pid"] for row in rows]
        finally:
            process.kill()
