"""Pure: what the files of a session's logs are called, in a folder of ours or in one of debugpy's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Union

DEBUGPY_LOG_DIR = "DEBUGPY_LOG_DIR"  # the environment variable by which debugpy is told to log

# What debugpy calls the logs of the same parts. The session starts the program, as debugpy's launcher does.
_DEBUGPYS = {"editor": "debugpy.adapter", "debugpy": "debugpy.server"}
_LAUNCHER = "debugpy.launcher"


@dataclass(frozen=True)
class DebugpysLogs:
    """The folder of ``DEBUGPY_LOG_DIR``: other processes log there too, so no file is replaced.

    ``pid`` is dualdbg's own. ``launches``: the session is that of a program that it starts.
    """

    folder: Path
    pid: int
    launches: bool = False

    def names(self, part: str) -> Iterator[str]:
        """Names for the log of a part, best first: for one that is not taken."""
        part = part.partition("-")[0]  # editor-2 is the second client
        name = _DEBUGPYS.get(part, f"dualdbg.{part}")
        if part == "session" and self.launches:
            name = _LAUNCHER
        yield f"{name}-{self.pid}.log"
        for number in count(2):
            yield f"{name}-{self.pid}-{number}.log"


LogFolder = Union[Path, DebugpysLogs]
"""Where logs go; a path is a folder with our own names."""


def of_launch(logs: LogFolder | None) -> LogFolder | None:
    """Where the logs of a session go that starts a program."""
    return replace(logs, launches=True) if isinstance(logs, DebugpysLogs) else logs


def of_child(logs: LogFolder | None, number: int) -> LogFolder | None:
    """Where the logs of a child process go: beside those of its parent in debugpy's folder."""
    if isinstance(logs, DebugpysLogs):
        return replace(logs, launches=False)
    return logs / f"process-{number}" if logs is not None else None
