"""`dualdbg doctor`: one line a finding with what mends it, and a real session at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.driver import dualdbg
from tests.support import other_interpreter


def test_all_is_well_here_and_a_session_proves_it() -> None:
    done = dualdbg("doctor", "--json")
    assert done.status == 0, done
    findings = {row["area"]: row for row in done.of("finding")}
    assert {"gdb", "ptrace", "python", "debugpy", "torch", "cache", "session"} <= set(findings)
    assert findings["session"]["status"] == "ok"
    assert "one stack of both" in findings["session"]["text"]
    assert list(findings)[-1] == "session"


def test_for_people_each_finding_is_a_line() -> None:
    done = dualdbg("doctor")
    assert done.status == 0, done
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ok      gdb      ")
    assert lines[-1].startswith("ok      session  ")


def test_without_gdb_no_session_is_tried() -> None:
    done = dualdbg("doctor", "--json", "--gdb", "/no/such/gdb")
    assert done.status == 3
    findings = {row["area"]: row for row in done.of("finding")}
    assert findings["gdb"]["status"] == "error" and findings["gdb"]["fix"]
    assert "session" not in findings


def test_an_interpreter_that_is_none() -> None:
    done = dualdbg("doctor", "--python", "/bin/true")
    assert done.status == 3
    assert "error   python   /bin/true is not a Python interpreter" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.13"])
def test_another_interpreter_with_nothing_installed_in_it(version: str) -> None:
    python: Path = other_interpreter(version)
    done = dualdbg("doctor", "--json", "--python", python)
    session = done.of("finding")[-1]
    assert (session["area"], session["status"]) == ("session", "ok"), done


def test_wrong_usage() -> None:
    done = dualdbg("doctor", "--bogus")
    assert done.status == 2
    done.complains("--bogus", "dualdbg doctor --help")
