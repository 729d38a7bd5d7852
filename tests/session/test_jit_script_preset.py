"""`preset:jit-script` in one program that scripts functions and a class, and traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import Exited, Stopped
from dualdbg.symbols.torch.operators import OperatorTable
from tests.session.driver import Driver, name, run_session

# Two of the functions are called by those that the user scripts.
PROGRAM = """\
import torch

def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2

def doubled_and_one(x: torch.Tensor) -> torch.Tensor:
    return doubled(x) + 1

@torch.jit.script
def first(x: torch.Tensor) -> torch.Tensor:
    return doubled_and_one(x) + doubled(x)

@torch.jit.script
def second(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.dropout(first(x), 0.5)

for _ in range(3):
    second(torch.ones(2))

@torch.jit.script
class Sum:
    def __init__(self, n: int):
        self.n = n

    def add(self, k: int) -> int:
        return self.n + k

for check in (False, True):
    traced = torch.jit.trace(lambda x: x + 1, torch.ones(2), check_trace=check)
    traced(torch.ones(2))
"""
COMPILED = ["script", "get_jit_def", "build_def", "script_compile_function", "didFinishEmitFunction"]
PLACES = [
    *COMPILED,
    *[*COMPILED, "preoptimizeGraph"],
    *["script", *["get_jit_def", "build_def"] * 2],
    *["didFinishEmitFunction", "preoptimizeGraph"],
    *[*["didFinishEmitFunction"] * 2, *["preoptimizeGraph"] * 2],
]


@pytest.mark.torch
@pytest.mark.slow
def test_the_preset_jit_script_stops_once_at_each_place_of_a_users_call(
    tmp_path: Path, operators: OperatorTable
) -> None:
    """And not for the functions that these call."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    async def work(driver: Driver) -> list[str]:
        seen: list[str] = []
        while isinstance(event := await driver.next(Stopped, Exited), Stopped):
            lines = list(map(name, (await driver.stack()).visible()))
            assert any(line.startswith("program.py:") for line in lines), lines
            frame = event.stop.frame
            seen.append((frame.function if frame else "").removeprefix("torch::jit::"))
            await driver.session.resume()
        return seen

    assert run_session(work, program, "preset:jit-script", operators=operators, just_my_code=False) == PLACES
