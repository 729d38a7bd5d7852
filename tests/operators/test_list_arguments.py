"""Lists of tensors that operators are passed as c10::IListRef: an array, or a vector of references to tensors."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from tests import rows
from tests.cli.driver import dualdbg

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="kernels' arguments are read for x86-64"),
]
PROGRAM = """\
import torch
a = torch.ones(2, 3)
torch.cat([a, a.double()], 1)
"""


@pytest.mark.parametrize("layer", rows.some(["dispatch", "kernel"], 1))  # of both: see test_passed.py
def test_the_tensors_of_a_list(tmp_path: Path, layer: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = dualdbg("run", "-b", f"cat@{layer}", "-x", "args", "--batch", script)
    assert "ITensorListRef tensors = [float32 [2, 3] cpu, float64 [2, 3] cpu]\n" in done.stdout
