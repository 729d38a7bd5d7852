"""The C++ object in a pybind11 instance, and the instance of a C++ object."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import rows
from tests.gdb_scripts.gdb_run import HERE, run_gdb
from tests.gdb_scripts.test_python_objects import executable
from tests.support import build_native, other_interpreter


# The layout is pybind11's own; what of CPython's is read on the way, test_python_objects.py has for every version.
@pytest.mark.slow
@pytest.mark.parametrize("version", rows.versions())
def test_either_side_leads_to_the_other(version: str, tmp_path: Path) -> None:
    python = executable(other_interpreter(version))
    program = [python, HERE / "targets" / "pybind_instance.py", build_native(python)]
    native = "*(void **) ({vector} + 16)"  # behind the head of the object
    commands = ["dualdbg-json py2cpp {vector}", f"dualdbg-json cpp2py {native}", f"print {native}"]
    outcome = run_gdb(program, commands, tmp_path)
    found, back = outcome.data(0), outcome.data(1)
    assert found["kind"] == "pybind11" and outcome.output(2).split()[-1] == found["native"], found
    assert found["pointers"][0] == {"type": "sample::Vec2 *", "address": found["native"]}
    assert int(back["python"], 16) == outcome.published["addresses"]["vector"], back
