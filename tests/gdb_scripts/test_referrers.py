"""The reference count of an object, and what refers to it: what ``sys`` and ``gc`` say, read from memory."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dualdbg.shared import python_versions
from tests.gdb_scripts.gdb_run import HERE, run_gdb
from tests.gdb_scripts.test_python_objects import executable
from tests.support import other_interpreter

COMMANDS = [f"dualdbg-json pyobject {{{name}}} --referrers" for name in ("wanted", "alone")]


@pytest.mark.parametrize("version", python_versions.NAMES)
def test_they_are_what_the_program_says(version: str, tmp_path: Path) -> None:
    known = python_versions.KNOWN[python_versions.NAMES.index(version)]
    program = [executable(other_interpreter(version)), HERE / "targets" / "referrers.py"]
    commands = [*COMMANDS, "pyobject {wanted}", "pyobject {none}"]
    outcome = run_gdb(program, commands, tmp_path)
    more, addresses = outcome.published["more"], outcome.published["addresses"]
    wanted, alone = outcome.data(0), outcome.data(1)
    assert (wanted["refcount"], alone["refcount"]) == (more["refcount"], more["alone"])
    found = {int(row["address"], 16): row["by"] for row in wanted["referrers"]["rows"]}
    assert sorted(found) == more["found"]
    assert wanted["referrers"]["cut"] is None and wanted["referrers"]["count"] == len(found)
    assert found[addresses["in_list"]] == ["[1]"] and found[addresses["in_dict"]] == ["['key']"]
    assert found[addresses["in_key"]] == ["a key"] and found[addresses["in_deque"]] == ["[100]"]
    assert found[addresses["in_slots"]] == [".held"]
    if known >= (3, 11):  # before, the instance's __dict__ refers to it
        assert found[addresses["in_instance"]] == [".held"]
    assert found[more["main"]] == ["['wanted']"]
    assert alone["referrers"]["count"] == 1

    assert outcome.output(2).endswith(f"  refcount: {more['refcount']}\n")
    assert ("immortal" in outcome.output(3)) == (known >= (3, 12))


def test_the_search_ends(tmp_path: Path) -> None:
    program = [executable(Path(sys.executable)), HERE / "targets" / "referrers.py", "many"]
    outcome = run_gdb(program, ["set dualdbg time-limit 1", COMMANDS[0]], tmp_path)
    found = outcome.data(1)["referrers"]
    assert found["cut"] == "the time limit of 1 s" and found["seen"] < 500_000
