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
def load(library):
    torch.ops.load_library(library)
x = torch.ones(2)
load(sys.argv[1])
torch.ops.simple.twice(x, 2.0)
load(sys.argv[2])
torch.ops.sample.scale(x, 2.0)
torch.ops.sample.boxed_echo(x, 1, 1.0, True, "a", [1])
"""


def test_kernels_of_extensions(tmp_path: Path, torch_extension: Path, operators: OperatorTable) -> None:
    """The first library has sample::scale as simple::twice, a name that no function has: its kernel is scale still."""
    contents = (torch_extension / "sample_operators.so").read_bytes()
    renamed = tmp_path / "renamed.so"
    for own, other in ((b"sample", b"simple"), (b"scale", b"twice"), (b"boxed_echo", b"other_echo")):
        contents = contents.replace(own + b"(", other + b"(").replace(b"\0%b\0" % own, b"\0%b\0" % other)
    renamed.write_bytes(contents)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    library = str(torch_extension / "sample_operators.so")

    async def work(driver: Driver) -> None:
        breakpoints = driver.session.breakpoints
        stop = await driver.stop()
        assert name(stop.frame) == "sample::scale" and stop.breakpoints == (1,)
        assert len(breakpoints.get(1).locations) == 1
        stop = await driver.resume()
        assert name(stop.frame) == "sample::scale" and stop.breakpoints == (2,)
        assert breakpoints.get(2).state is BreakpointState.VERIFIED
        assert breakpoints.get(2).locations[0].library == library
        [row] = await breakpoints.add("sample::boxed_echo.default@kernel")  # registered long since
        assert row.state is BreakpointState.VERIFIED
        assert (await breakpoints.add("sample::nothing@kernel"))[0].state is BreakpointState.PENDING
        stop = await driver.resume()
        assert name(stop.frame) == "sample::boxed_echo" and stop.breakpoints == (row.id,)
        await driver.session.resume()
        await driver.exit()

    options = {"args": (str(renamed), library)}
    specs = ("simple::twice", "sample::scale@kernel")
    run_session(work, program, *specs, operators=operators, launch_options=options)
