"""The C++ object in a pybind11 instance, and the instance of a C++ object, in every CPython from 3.8 on."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.shared import python_versions
from tests.gdb_scripts.gdb_run import PUBLISH, run_gdb
from tests.gdb_scripts.test_python_objects import executable
from tests.support import build_native, other_interpreter

PROGRAM = f"""{PUBLISH}
import sys
sys.path.insert(0, sys.argv[1])
import sample_pybind
vector = sample_pybind.Vec2(3, 4)
publish(vector=id(vector))
stop()
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", python_versions.NAMES)
def test_from_either_side_to_the_other(version: str, tmp_path: Path) -> None:
    python = executable(other_interpreter(version))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    native = "*(void **) ({vector} + 16)"  # behind the head of the object
    commands = ["dualdbg-json py2cpp {vector}", f"dualdbg-json cpp2py {native}", f"print {native}"]
    outcome = run_gdb([python, program, build_native(python)], commands, tmp_path)
    found, back = outcome.data(0), outcome.data(1)
    assert found["kind"] == "pybind11" and outcome.output(2).split()[-1] == found["native"], found
    assert found["pointers"][0] == {"type": "sample::Vec2 *", "address": found["native"]}
    assert int(back["python"], 16) == outcome.published["addresses"]["vector"], back
