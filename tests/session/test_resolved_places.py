"""What ``dualdbg resolve`` names for a Python callable is where a call of it stops."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dualdbg.model import Exited, PythonFrame, Stopped
from dualdbg.symbols.callables.native_entries import find_entries
from dualdbg.symbols.callables.resolved import Resolved
from dualdbg.symbols.torch.operators import OperatorTable
from tests.session.driver import Driver, run_session

CALLS = {
    "torch.randn": "torch.randn(2)",
    "torch.Tensor.add": "torch.zeros(2).add(1)",
    "torch.ops.aten.mm": "torch.ops.aten.mm(torch.ones(2, 2), torch.ones(2, 2))",
    "math.sin": "math.sin(1.0)",
    "sample_pybind.outer": "sample_pybind.outer(1.0, 3)",
    "sample_pybind.Vec2.length": "sample_pybind.Vec2(3, 4).length()",
}
FIRST_LINE = 2


def specs(answer: Resolved) -> list[str]:
    """What the answer says to type."""
    named = [entry.spec for entry in answer.entries if entry.role in ("function", "kernel")]
    return named + ([answer.operator.removeprefix("aten::")] if answer.operator else [])


@pytest.mark.torch
@pytest.mark.slow
def test_calls_stop_at_what_was_named(tmp_path: Path, native_samples: Path, operators: OperatorTable) -> None:
    answers = find_entries(sys.executable, list(CALLS), search_path=[str(native_samples)])
    program = tmp_path / "program.py"
    program.write_text("\n".join(["import math, torch, sample_pybind", *CALLS.values(), ""]))
    wanted = {name: specs(answer) for name, answer in zip(CALLS, answers, strict=True)}
    assert all(wanted.values()), wanted

    async def work(driver: Driver) -> set[tuple[int, str]]:
        seen = set()
        while isinstance(event := await driver.next(Stopped, Exited), Stopped):
            frames = (await driver.stack()).visible()
            python = (frame for frame in frames if isinstance(frame, PythonFrame))
            line = next(frame.line for frame in python if frame.file == str(program))
            rows = [driver.session.breakpoints.get(id) for id in event.stop.breakpoints]
            seen |= {(line or 0, row.spec.text) for row in rows}
            await driver.session.resume()
        return seen

    texts = [text for named in wanted.values() for text in named]
    seen = run_session(work, program, *texts, operators=operators, env={"PYTHONPATH": str(native_samples)})
    for line, (name, named) in enumerate(wanted.items(), FIRST_LINE):
        assert {(line, text) for text in named} <= seen, (name, seen)
