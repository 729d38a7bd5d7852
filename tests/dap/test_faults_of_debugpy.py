"""The faults that docs/upstream reports are still there in debugpy alone. Where one has gone, its patch may go too."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests import rows
from tests.support import ROOT, find_interpreter, require

from .client import Client, Message

REPORTS = ROOT / "docs" / "upstream"


def next_stop(client: Client) -> Message | None:
    """The innermost frame at the next stop; None where the program ends first."""
    event = client.next_event("stopped", "terminated")
    return client.stack(event["body"]["threadId"])[0] if event["event"] == "stopped" else None


def stepped(client: Client, program: Path, command: str = "next", count: int = 1) -> Message | None:
    """Where steps from the line that is marked ``stop`` have led."""
    frame = next_stop(client)
    assert frame is not None and frame["line"] == marked(program, "stop")
    for _ in range(count):
        (thread,) = client.request("threads")["threads"]
        client.go(command, thread["id"])
        frame = next_stop(client)
    return frame


def marked(program: Path, mark: str) -> int:
    lines = program.read_text().splitlines()
    return next((at for at, line in enumerate(lines, 1) if line.endswith(f"# {mark}")), 0)


def signal_ends_it(client: Client, program: Path) -> bool:
    client.event("terminated")
    return "got" not in client.output


def never_stops(client: Client, program: Path) -> bool:
    return next_stop(client) is None


def stops_in_sibling(client: Client, program: Path) -> bool:
    frame = stepped(client, program)
    return frame is not None and frame["name"] == "g"


def step_is_lost(client: Client, program: Path) -> bool:
    return stepped(client, program) is None


def passes_later_breakpoint(client: Client, program: Path) -> bool:
    assert next_stop(client) is not None
    client.set_lines(program, [marked(program, "stop"), marked(program, "set later")])
    (thread,) = client.request("threads")["threads"]
    client.go("continue", thread["id"])
    return next_stop(client) is None


def has_result_of_raise(client: Client, program: Path) -> bool:
    frame = stepped(client, program, count=2)
    assert frame is not None
    rows = client.scope(frame)
    inner = {
        name: row for top in rows.values() if "return" in top["name"] for name, row in found(client, top)
    }
    shown = {**rows, **inner}
    return any(shown[name]["value"] == "None" for name in shown if name in ("f", "(return) f"))


def found(client: Client, row: Message) -> list[tuple[str, Message]]:
    return list(client.children(row).items()) if row["variablesReference"] else []


def adds_names(client: Client, program: Path) -> bool:
    client.event("terminated")
    return "execfile" in client.output


FAULTS: list[Any] = [
    ("blocked-signals", "3.11", signal_ends_it),
    ("step-out-by-exception", "3.13", step_is_lost),
    ("breakpoint-on-last-line", "3.11", never_stops),
    ("next-over-return", "3.11", stops_in_sibling),
    ("generator-waits", "3.13", passes_later_breakpoint),
    ("return-value-of-raise", "3.11", has_result_of_raise),
    ("builtins", "3.13", adds_names),
]


def test_each_report_has_a_program_and_a_row() -> None:
    folders = {path.name for path in REPORTS.iterdir() if path.is_dir()}
    assert folders == {name for name, _, _ in FAULTS}
    for name in folders:
        report = (REPORTS / name / "report.md").read_text()
        assert (REPORTS / name / "program.py").exists() and "[program.py](program.py)" in report
        for part in ("**Steps.**", "**Expected.**", "**Observed.**", "**Why.**", "**Remedy.**"):
            assert part in report, name


@pytest.mark.parametrize(("name", "version", "is_there"), rows.some(FAULTS, 2))
def test_the_fault_is_still_there(
    name: str, version: str, is_there: Callable[[Client, Path], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.dap.client.check", lambda message: None)  # it has events of its own
    python = require(find_interpreter(version), f"Python {version}", outside=True)
    program = REPORTS / name / "program.py"
    line = marked(program, "stop")
    with subprocess.Popen(
        [sys.executable, "-m", "debugpy.adapter"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ,
    ) as adapter:
        assert adapter.stdin and adapter.stdout
        client = Client(adapter.stdout, adapter.stdin)  # type: ignore[arg-type]
        launch = {
            "program": str(program),
            "python": [str(python)],
            "console": "internalConsole",
            "subProcess": False,
        }
        client.start({**launch, "showReturnValue": True}, lines={program: [line]} if line else {})
        assert is_there(client, program), f"debugpy has mended {name}: see docs/upstream/{name}"
        client.request("disconnect", {"terminateDebuggee": True})
        adapter.stdin.close()
        adapter.wait(patient(60))
