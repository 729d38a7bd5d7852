"""`preset:jit-script` for what is no function: a scripted class, and a trace, as the journey tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.symbols.torch.operators import OperatorTable
from tests.session.driver import functions_to_the_end, run_session

SCRIPTED_CLASS = """\
import torch

@torch.jit.script
class Sum:
    def __init__(self, n: int):
        self.n = n

    def add(self, k: int) -> int:
        return self.n + k
"""

TRACED = """\
import torch

traced = torch.jit.trace(lambda x: x + 1, torch.ones(2), check_trace={check})
traced(torch.ones(2))
"""


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "places"),
    [
        pytest.param(SCRIPTED_CLASS, ["script", *["get_jit_def", "build_def"] * 2], id="class"),
        pytest.param(
            TRACED.format(check=False),
            ["didFinishEmitFunction", "preoptimizeGraph"],
            id="trace",
            marks=pytest.mark.exhaustive,  # the half of what is checked
        ),
        pytest.param(
            TRACED.format(check=True),
            [*["didFinishEmitFunction"] * 2, *["preoptimizeGraph"] * 2],
            id="checked",
        ),
    ],
)
def test_the_preset_jit_script_of_a_class_and_of_a_trace(
    tmp_path: Path, operators: OperatorTable, text: str, places: list[str]
) -> None:
    program = tmp_path / "other.py"
    program.write_text(text)

    assert (
        run_session(
            functions_to_the_end, program, "preset:jit-script", operators=operators, just_my_code=False
        )
        == places
    )
