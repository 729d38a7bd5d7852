"""A core file says what the process said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gdb_scripts.gdb_run import run_gdb
from tests.gdb_scripts.test_ivalues import BREAK, program

pytestmark = [pytest.mark.torch]


def test_core_file_has_the_same_answers(corpus_library: Path, tmp_path: Path) -> None:
    """Also where there are ten thousand values and a million elements."""
    words, cores = program(corpus_library, "3:200", "many:10000"), [tmp_path / "few", tmp_path / "many"]
    looks = [
        "dualdbg-json ivalue-stack --limit 0",
        "ivalue-stack --full",
        "dualdbg-json tensor stack->_M_impl._M_start[41] --data --stats",
        "op op",
        "op aten::add",
        "dispatch-keys 0x9400010001",
        "dualdbg-layout",
    ]
    long = "ivalue-stack --limit 0"
    commands = [*looks, f"gcore {cores[0]}", "continue", long, f"gcore {cores[1]}"]
    live = run_gdb(words, commands, tmp_path, setup=["run", *BREAK])
    dead = run_gdb(words, [BREAK[0], *looks], tmp_path, core=cores[0])
    for index, command in enumerate(looks):
        assert dead.results[1 + index]["error"] == live.results[index]["error"], command
        assert dead.output(1 + index) == live.output(index), command
    assert len(live.output(0)) > 10_000
    many = run_gdb(words, [BREAK[0], long], tmp_path, core=cores[1])
    assert many.output(1) == live.output(len(looks) + 2)
    assert len(many.output(1).splitlines()) == 10_002
    for core in cores:
        core.unlink()
