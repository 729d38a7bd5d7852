"""What each engine holds: facts of a stop that the session keeps until it is continued."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..backends import events as engine


@dataclass
class PythonHold:
    """A thread that debugpy holds, not yet continued. ``tid`` and ``frame`` once they are known."""

    event: engine.PythonStopped
    tid: int | None = None
    frames: list[dict[str, Any]] = field(default_factory=list)
    depth: int = 0  # the number of its Python frames
    judged: bool = False  # shown to the user, or passed over


@dataclass
class NativeHold:
    """What gdb last stopped for.

    ``innermost_matters``: the function it stopped in is what the user is to see, even one of the interpreter's own.
    """

    event: engine.NativeStopped
    tid: int
    gdb_thread: int
    innermost_matters: bool = False
