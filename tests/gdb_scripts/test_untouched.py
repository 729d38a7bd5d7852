"""A look changes nothing: memory, registers and reference counts are the same before and after."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.gdb_scripts.gdb_run import HERE, run_gdb

pytestmark = [pytest.mark.torch]


def test_memory_and_registers_are_the_same(corpus_library: Path, tmp_path: Path) -> None:
    program = [sys.executable, HERE / "targets" / "corpus.py", corpus_library, "7:100"]
    setup = ["run", "sharedlibrary sample_corpus", "break corpus::boxed_sink", "continue"]
    looks = [
        "ivalue-stack",
        "ivalue-stack --full",
        "dualdbg-json ivalue-stack --limit 0",
        "print *stack",
        "print op",
        "op op",
        "tensor *(long*)(stack->_M_impl._M_start + 41) --data --stats",
        "tensor stack->_M_impl._M_start[41] --data --stats",
        "dispatch-keys stack->_M_impl._M_start[41]",
        "pyobject 0x10",
        "jit-frame",
        "dualdbg-layout",
        "torch-help",
    ]
    # What would change something is refused.
    refused = [
        "tensor stack->clear()",
        "ivalue stack->_M_impl._M_start[0].dump()",
        "ivalue *(long*)stack = 0",
        "ivalue $rdi = 0",
        "ivalue-stack $rsp++",
        "tensor (at::Tensor*)malloc(8)",
    ]
    commands = [
        "python fingerprint()",
        *looks,
        *refused,
        "python fingerprint()",
        "continue",
        "print $_exitcode",
    ]
    outcome = run_gdb(program, commands, tmp_path, setup=setup)
    before, after = outcome.output(0), outcome.output(len(commands) - 3)
    assert before == after and len(before) > 100
    for index in range(len(refused)):
        error = outcome.error(1 + len(looks) + index)
        assert "assigns; nothing is written here" in error or "gdb cannot evaluate" in error, error
    # The target itself compares its reference counts, and ends with 0 when they are what they were.
    assert outcome.output(len(commands) - 1).endswith(" = 0\n")
