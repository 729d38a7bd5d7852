"""A core file says what the process said."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.gdb_scripts.gdb_run import HERE, run_gdb

pytestmark = [pytest.mark.torch]


def test_the_same_answers_from_a_core_file(corpus_library: Path, tmp_path: Path) -> None:
    program = [sys.executable, HERE / "targets" / "corpus.py", corpus_library, "3", "200"]
    core = tmp_path / "core"
    setup = ["run", "sharedlibrary sample_corpus", "break corpus::boxed_sink", "continue"]
    looks = [
        "dualdbg-json ivalue-stack --limit 0",
        "ivalue-stack --full",
        "dualdbg-json tensor stack->_M_impl._M_start[41] --data --stats",
        "op op",
        "op aten::add",
        "dispatch-keys 0x9400010001",
        "dualdbg-layout",
    ]
    live = run_gdb(program, [*looks, f"gcore {core}"], tmp_path, setup=setup)
    assert live.results[-1]["error"] is None and core.exists()
    load = "sharedlibrary sample_corpus"
    dead = run_gdb(program, [load, *looks], tmp_path, core=core)
    for index, command in enumerate(looks):
        assert dead.results[1 + index]["error"] == live.results[index]["error"], command
        assert dead.output(1 + index) == live.output(index), command
    assert len(live.output(0)) > 10_000
    core.unlink()


def test_ten_thousand_values_and_a_million_elements(corpus_library: Path, tmp_path: Path) -> None:
    program = [sys.executable, HERE / "targets" / "corpus.py", corpus_library, "0", "10000", "many"]
    core = tmp_path / "core"
    setup = ["run", "sharedlibrary sample_corpus", "break corpus::boxed_sink", "continue"]
    live = run_gdb(program, ["ivalue-stack --limit 0", f"gcore {core}"], tmp_path, setup=setup)
    dead = run_gdb(program, ["sharedlibrary sample_corpus", "ivalue-stack --limit 0"], tmp_path, core=core)
    assert dead.output(1) == live.output(0)
    assert len(live.output(0).splitlines()) == 10_002
    core.unlink()
