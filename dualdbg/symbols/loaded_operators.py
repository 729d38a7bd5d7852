"""The operators of the PyTorch that a running process has loaded."""

from __future__ import annotations

from pathlib import Path

from .image import ProcessImage
from .operators import OperatorTable


def operators_of(pid: int) -> OperatorTable | None:
    """None where the process has not loaded PyTorch."""
    image = ProcessImage(pid)
    image.refresh()
    for module in image.modules:
        path = Path(module.path)
        if path.name.startswith("libtorch_cpu"):
            return OperatorTable.load(path.parent.parent)
    return None
