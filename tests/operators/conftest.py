"""The installed PyTorch and its operator table."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from dualdbg.symbols.torch.operators import OperatorTable
from tests import support


@pytest.fixture(scope="session")
def torch_directory() -> Path:
    spec = support.require(importlib.util.find_spec("torch"), "PyTorch")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


@pytest.fixture(scope="session")
def table(torch_directory: Path) -> OperatorTable:
    return OperatorTable.load(torch_directory)
