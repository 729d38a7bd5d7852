"""Operators that an extension registers: their kernels are found when they are registered, or in the registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import BreakpointState
from dualdbg.symbols.torch.operators import OperatorTable
from tests.session.driver import Driver, name, run_session

pytestmark = [pytest.mark.torch, pytest.mark.slow]

PROGRAM = """\
import sys, torch
def load():
    torch.ops.load_library(sys.argv[1])
load()
x = torch.ones(2)
torch.ops.sample.scale(x, 2.0)
torch.ops.sample.boxed_echo(x, 1, 1.0, True, "a", [1])
"""


def test_kernels_of_an_extension(tmp_path: Path, torch_extension: Path, operators: OperatorTable) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    library = str(torch_extension / "sample_operators.so")

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert name(stop.frame) == "sample::scale" and stop.breakpoints == (1,)
        breakpoints = driver.session.breakpoints
        assert breakpoints.get(1).state is BreakpointState.VERIFIED
        assert breakpoints.get(1).locations[0].library == library
        [row] = await breakpoints.add("sample::boxed_echo.default@kernel")  # registered long since
        assert row.state is BreakpointState.VERIFIED
        assert (await breakpoints.add("sample::nothing@kernel"))[0].state is BreakpointState.PENDING
        stop = await driver.resume()
        assert name(stop.frame) == "sample::boxed_echo" and stop.breakpoints == (row.id,)
        await driver.session.resume()
        await driver.exit()

    options = {"args": (library,)}
    run_session(work, program, "sample::scale@kernel", operators=operators, launch_options=options)


def test_a_name_that_no_function_has(tmp_path: Path, torch_extension: Path, operators: OperatorTable) -> None:
    """The operator sample::scale under the name sample::twice: its kernel is sample::scale still."""
    contents = (torch_extension / "sample_operators.so").read_bytes()
    renamed = contents.replace(b"scale(Tensor", b"twice(Tensor").replace(b"\0scale\0", b"\0twice\0")
    library = tmp_path / "renamed.so"
    library.write_bytes(renamed)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("sample.scale", "sample.twice"))

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        assert name(stop.frame) == "sample::scale" and stop.breakpoints == (1,)
        assert len(driver.session.breakpoints.get(1).locations) == 1
        await driver.session.resume()
        await driver.exit()

    options = {"args": (str(library),)}
    run_session(work, program, "sample::twice", operators=operators, launch_options=options)
