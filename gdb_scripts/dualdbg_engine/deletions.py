"""What is done when a breakpoint of gdb is deleted, by whomever."""

from __future__ import annotations

from typing import Callable

import gdb

_with: dict[gdb.Breakpoint, list[Callable[[], None]]] = {}


def when_gone(point: gdb.Breakpoint, do: Callable[[], None]) -> None:
    """Have something done when a breakpoint is deleted."""
    _with.setdefault(point, []).append(do)


def _gone(point: gdb.Breakpoint) -> None:
    for do in _with.pop(point, []):
        do()


gdb.events.breakpoint_deleted.connect(_gone)
