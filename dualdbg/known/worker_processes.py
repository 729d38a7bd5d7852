"""Processes that work for another one, told by the Python functions of their main thread. Pure."""

from __future__ import annotations

from collections.abc import Iterable

_LOADER = "_worker_loop", "/torch/utils/data/_utils/worker.py"  # PyTorch's DataLoader
_BEGINS = "_bootstrap", "/multiprocessing/process.py"  # whatever multiprocessing has started


def is_loader(functions: Iterable[tuple[str | None, str | None]]) -> bool:
    """Whether it is a DataLoader's worker, by the name and the file of each Python function of its main thread."""
    return _has(functions, *_LOADER)


def is_of_multiprocessing(functions: Iterable[tuple[str | None, str | None]]) -> bool:
    """Whether multiprocessing has started it, in whatever way."""
    return _has(functions, *_BEGINS)


def _has(functions: Iterable[tuple[str | None, str | None]], name: str, file: str) -> bool:
    return any(
        (function or "").rpartition(".")[2] == name and (path or "").endswith(file)
        for function, path in functions
    )
