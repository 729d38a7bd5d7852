"""The operators of the PyTorch that a running process has loaded."""

from __future__ import annotations

from pathlib import Path

from ...shared.libraries import is_torch_cpu
from ..address_space import AddressSpace
from .operators import OperatorTable


def operators_of(pid: int) -> OperatorTable | None:
    """The operator table of the PyTorch that a process has loaded; None where it has not loaded PyTorch."""
    image = AddressSpace(pid)
    image.refresh()
    for module in image.modules:
        if is_torch_cpu(module.path):
            return OperatorTable.load(Path(module.path).parent.parent)
    return None
