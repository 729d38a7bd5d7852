"""Programs of these tests: small scripts that use the sample extension."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from dualdbg.symbols.torch.operators import OperatorTable
from tests import support

CROSSING = """\
import sample_capi, sample_pybind
def double(v):
    w = v * 2
    return w
a = sample_pybind.add(1.5, 2.0)
b = sample_capi.outer(1.0, 3)
c = sample_pybind.call_back(double, 10.0)
u = sample_pybind.Vec2(1.0, 2.0)
v = u + u
n = u.norm
x, y = u
try:
    sample_pybind.raise_error("no")
except Exception as error:
    kept = error
m = sample_capi.add(sample_pybind.add(1, 2), 4)
print(a, b, c, n, m)
"""


@pytest.fixture
def crossing(tmp_path: Path) -> Path:
    """A script that goes to and fro between Python and the sample extension."""
    path = tmp_path / "crossing.py"
    path.write_text(CROSSING)
    return path


@pytest.fixture
def env(native_samples: Path) -> dict[str, str]:
    """What a program needs to import the sample extension."""
    return {"PYTHONPATH": str(native_samples)}


@pytest.fixture(scope="session")
def operators() -> OperatorTable:
    """The operators of the installed PyTorch."""
    spec = support.require(importlib.util.find_spec("torch"), "PyTorch")
    assert spec.origin is not None
    return OperatorTable.load(Path(spec.origin).parent)
