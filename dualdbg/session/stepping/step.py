"""A step under way: what was left, and which engines work on it."""

from __future__ import annotations

from dataclasses import dataclass

from ...backends.native import Move
from ...model import NativeFrame, PythonFrame

NATIVE_MOVES = {"next": Move.NEXT, "step": Move.STEP, "until": Move.UNTIL}
_REQUESTS = {"next": "next", "step": "stepIn", "finish": "stepOut", "until": "next"}
CONTINUE = "continue"  # the kind of a step that only continues, with something to do on the way


@dataclass(frozen=True)
class Step:
    """A step, from where it began.

    ``origin`` is the Python line that was left, ``depth`` the number of Python frames that debugpy showed there.
    ``top`` is the innermost frame that was left natively, and ``end`` its canonical address: it is gone once the stack
    pointer is there. ``within``: the function of ``top`` and those into which it was inlined, the outermost first.
    """

    kind: str
    tid: int
    gdb_thread: int
    origin: PythonFrame | None = None
    top: NativeFrame | None = None
    depth: int = 0
    end: int | None = None
    within: tuple[str | None, ...] = ()

    @property
    def watches(self) -> bool:
        """Whether the step ends in native code that the Python line calls."""
        return self.kind == "step" and self.origin is not None

    @property
    def request(self) -> str:
        """What debugpy is asked for."""
        return _REQUESTS[self.kind]
