"""Whatever is at an address, every command ends: with an answer or with a message, never with a traceback."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests.gdb_scripts.gdb_run import HERE, held

pytestmark = [pytest.mark.torch, pytest.mark.slow]

COMMANDS = (
    "ivalue {}",
    "ivalue-stack {} --full",
    "tensor {} --data --stats",
    "pyobject {}",
    "dispatch-keys {}",
    "op {}",
    "jit-code {}",
    "jit-graph {}",
    "jit-frame {}",
    "py2cpp {}",
)
# This one looks through every dictionary of the interpreter, so it gets some of each kind of address.
SEARCHES = "cpp2py {}"
EVERY = 5
ALWAYS = ("str_of_no_characters_narrow", "str_of_no_characters_wide", "array_of_no_characters_u")
# Far more than an address ever takes; a command that hangs takes the whole time limit of its own, 2 s here.
SECONDS = 5.0


@pytest.mark.parametrize("part", [8, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_nothing_hangs_and_nothing_breaks(part: int, tmp_path: Path) -> None:
    """At one of ``part`` of the addresses."""
    program = [sys.executable, HERE / "targets" / "garbage.py", "1"]
    with held(program, tmp_path) as target:
        names = target.names[::part]
        names += [name for name in ALWAYS if name not in names]
        commands = ["set dualdbg time-limit 2"]
        commands += [command.format(f"{{{name}}}") for name in names for command in COMMANDS]
        commands += [SEARCHES.format(f"{{{name}}}") for name in names[::EVERY]]
        outcome = target.look(commands, timeout=patient(500))
    assert len(outcome.results) == len(commands) > 3000 // part
    answered = [record for record in outcome.results if record["error"] is None]
    assert len(answered) > 100 // part
    defects = [record for record in outcome.results if "Defect in" in str(record["error"])]
    assert defects == []
    slow = [
        (record["command"], record["seconds"]) for record in outcome.results if record["seconds"] > SECONDS
    ]
    assert slow == []
    long = [record["command"] for record in outcome.results if len(record["output"]) > 1_000_000]
    assert long == []
