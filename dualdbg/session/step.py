"""A step under way: what was left, and where it may end."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model import NativeFrame, PythonFrame
from .call_entries import CallEntries

_REQUESTS = {"next": "next", "step": "stepIn", "finish": "stepOut", "until": "next"}


@dataclass
class Step:
    """A step under way: where it may land natively, and whether debugpy works on it too."""

    kind: str
    tid: int
    gdb_thread: int
    # gdb breakpoint -> lowest stack pointer that counts
    landings: dict[int, int] = field(default_factory=dict)
    # gdb breakpoints at native code that the Python line may enter, and where they are
    entries: dict[int, int] = field(default_factory=dict)
    origin: PythonFrame | None = None  # the Python line that was left
    top: NativeFrame | None = None  # the innermost frame that was left natively
    depth: int = 0  # how many Python frames debugpy showed there
    python: bool = False
    bodies: bool = False  # the functions of the extension are among the entries
    calls: CallEntries | None = None  # of a function without debug info
    chosen: list[int] = field(default_factory=list)  # gdb breakpoints at the native call that the user chose

    @property
    def request(self) -> str:
        """What debugpy is asked for."""
        return _REQUESTS[self.kind]
