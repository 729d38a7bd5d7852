"""A step under way: what was left, and which engines work on it."""

from __future__ import annotations

from dataclasses import dataclass

from ...model import NativeFrame, PythonFrame

_REQUESTS = {"next": "next", "step": "stepIn", "finish": "stepOut", "until": "next"}
CONTINUE = "continue"  # no step, but something is to be done on the way


@dataclass(frozen=True)
class Step:
    """``origin`` is the Python line that was left, ``depth`` how many Python frames debugpy showed there; ``top`` the
    innermost frame that was left natively. ``lands``: gdb stops where native code is returned to, and ends the step.
    """

    kind: str
    tid: int
    gdb_thread: int
    origin: PythonFrame | None = None
    top: NativeFrame | None = None
    depth: int = 0
    lands: bool = False

    @property
    def request(self) -> str:
        """What debugpy is asked for."""
        return _REQUESTS[self.kind]
