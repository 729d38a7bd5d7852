"""What was seen in processes, in words. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

from .standing import Standing
from .waits import Node


@dataclass(frozen=True)
class Finding:
    """One thing that was seen. ``kind`` is one of ``KINDS``, which begin with the gravest.

    ``tasks``: process id and address of each task of asyncio that it is about. ``waiting``: the threads that wait, as
    they stood when they were looked at.
    """

    kind: str
    text: str
    threads: tuple[Node, ...] = ()
    tasks: tuple[Node, ...] = ()
    waiting: tuple[Standing, ...] = ()


KINDS = (
    "deadlock",
    "task-deadlock",
    "fork-with-lock",
    "collective",
    "workers",
    "lock",
    "database",
    "gil",
    "loop",
    "exit",
    "io",
    "child",
    "notification",
    "gpu",
    "busy",
)
