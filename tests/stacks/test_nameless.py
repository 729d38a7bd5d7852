"""Interpreters whose evaluation loop has no name: the same stacks and steps as in one that has all of its names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dualdbg.shared import python_versions
from tests.cli.driver import dualdbg
from tests.snapshot.programs_running import running
from tests.snapshot.test_python import settled
from tests.stacks.nameless import nameless
from tests.support import other_interpreter

PROGRAM = """\
import os

def called(number):
    session = os.getsid(0)
    return number

def caller(numbers):
    found = sorted(numbers, key=called)
    return found

caller([1])
print("end", flush=True)
"""
KEPT = {"stopped": ("origin", "reason"), "stack": ("quality", "note"), "frame": ()}


@pytest.fixture(params=python_versions.NAMES[3:])  # from 3.11 on, which keeps something on the stack
def python(request: pytest.FixtureRequest) -> Path:
    return other_interpreter(request.param)


def told(python: Path, program: Path) -> list[Any]:
    """What a session says of its stops: all but numbers that differ from run to run."""
    steps = ("bt", "finish", "bt", "step", "bt", "finish", "bt", "finish", "bt")
    words = [word for step in steps for word in ("-x", step)]
    done = dualdbg("run", "--batch", "--json", "--python", python, "-b", "getsid", *words, program)
    assert done.status == 0, done
    return [
        [
            event["event"],
            *(event.get(key) for key in KEPT[event["event"]]),
            [where(row) for row in rows(event)],
        ]
        for event in done.events
        if event["event"] in KEPT
    ]


def rows(event: dict[str, Any]) -> list[dict[str, Any]]:
    return event.get("frames") or ([event["frame"]] if event.get("frame") else [])


def where(row: dict[str, Any]) -> tuple[str, str, int | None]:
    return row["kind"], row["function"], row["line"] if row["kind"] == "python" else None


def test_stacks_and_steps_are_those_of_an_interpreter_with_names(python: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    expected = told(python, program)
    stacks = [one for one in expected if one[0] == "stack"]
    assert stacks[0][1] == "full" and [row[1] for row in stacks[0][3]] == [
        "getsid",
        "called",
        "caller",
        "<module>",
    ]
    assert told(nameless(python, tmp_path), program) == expected


def test_a_snapshot_has_whole_stacks(python: Path, tmp_path: Path) -> None:
    with running("python_stack.py", python=nameless(python, tmp_path)) as pid:
        stack = settled(pid).stack
        assert (stack.quality.value, stack.note) == ("full", None)
        assert not any(frame.evaluates for frame in stack.frames if hasattr(frame, "evaluates"))
