"""Boxed kernels of the stock wheel: their arguments are as Python has passed them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, Stopped
from tests.session.driver import Driver, run_session

pytestmark = pytest.mark.torch

PROGRAM = """\
import os, torch
x = torch.arange(6.0).reshape(2, 3)
z = torch.tensor([1 + 2j, 3j]).conj()
os.getsid(0)
torch.vmap(lambda one: torch.add(torch.sin(one), one, alpha=2))(x)
torch.vmap(lambda one: torch.sum(one, 0, True))(x)
torch.angle(z)
"""
# What the program passes for one row of the matrix, and what functorch passes on for all of it.
ONE, ALL = "Tensor float32 [3] cpu", "Tensor float32 [2, 3] cpu"
PASSED_TO_VMAP = [
    ("aten::sin", f"[{ONE}]"),
    ("aten::add.Tensor", f"[{ONE}, {ONE}, 2]"),
    ("aten::sum.dim_IntList", f"[{ONE}, [0], True, None]"),
]
BEHIND_VMAP = [
    [("aten::sin", f"[{ALL}]")],
    [("aten::add.Tensor", f"[{ALL}, {ALL}, 2]")],
    [
        ("aten::sum.dim_IntList", f"[{ONE}, [0], True, None]"),
        ("aten::sum.dim_IntList", f"[{ALL}, [1], True, None]"),
    ],
]
PASSED_TO_ANGLE = ("aten::angle", "[Tensor complex64 [2] cpu conj]")


def test_what_fallbacks_are_passed(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)

    async def work(driver: Driver) -> list[tuple[str, dict[str, str]]]:
        found = []
        await driver.stop()
        await driver.session.breakpoints.add("c10::BoxedKernel::make_boxed_function")
        await driver.session.resume()
        while isinstance(event := await driver.next(Stopped, Exited), Stopped):
            frame = event.stop.frame
            assert isinstance(frame, NativeFrame)
            rows = await driver.session.inspector.variables(event.stop.thread.tid, frame)
            found.append((frame.function or "", {f"{row.type} {row.name}": row.value for row in rows}))
            await driver.session.resume()
        return found

    found = run_session(work, script, "::getsid")
    for row in found:
        print(row)
    told = [(name.rpartition("::")[2], *texts(rows)) for name, rows in found]
    assert [row[1:] for row in told] == [
        call for front, behind in zip(PASSED_TO_VMAP, BEHIND_VMAP, strict=True) for call in (front, *behind)
    ] + [PASSED_TO_ANGLE]
    assert {row.pop("OperatorKernel* functor", "null") for _, row in found} == {"null"}
    keys = [row["DispatchKeySet dispatchKeySet"] for _, row in found]
    assert keys[-1] == "DispatchKeySet(CPU, Conjugate)"


def texts(rows: dict[str, str]) -> tuple[str, str]:
    """The operator and the stack."""
    (op,) = (value for name, value in rows.items() if name.endswith(" op"))
    (stack,) = (value for name, value in rows.items() if name.endswith("* stack"))
    return op.partition("(")[0], stack
