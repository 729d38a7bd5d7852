"""The program of one client: its session, if any, and the numbers by which the client knows frames and values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..errors import CommandError
from ..session.inspect.disassembly import Code
from ..session.inspect.memory import Memory
from ..session.session import Session
from .handles import FrameHandle, StopHandles
from .stages import Stage, no_session


@dataclass
class Debuggee:
    """What the client debugs. ``name`` and ``start_method`` are for the ``process`` event.

    ``code`` and ``memory`` belong to the session, and exist once there was one.
    """

    stage: Stage = Stage.NEW
    name: str = ""
    start_method: Literal["launch", "attach", "attachForSuspendedLaunch"] = "attach"
    handles: StopHandles = field(default_factory=StopHandles)
    session_or_none: Session | None = None
    code: Code = field(init=False)
    memory: Memory = field(init=False)

    @property
    def is_child(self) -> bool:
        """Whether another client's program has started it."""
        return self.start_method == "attachForSuspendedLaunch"

    @property
    def session(self) -> Session:
        """Raises WrongState while there is none."""
        if self.session_or_none is None:
            raise no_session(self.stage)
        return self.session_or_none

    def begin(self, session: Session) -> None:
        """There is a session."""
        self.session_or_none = session
        self.code = Code(session)
        self.memory = Memory(session)

    def forget(self) -> None:
        """There is no session any more."""
        self.handles.clear()
        self.session_or_none = None

    def thread(self, tid: int) -> int:
        """The same number, of a thread that there is. Raises CommandError for any other."""
        if not Path(f"/proc/{self.session.pid}/task/{tid}").exists():
            raise CommandError(f"there is no thread {tid}", "ask for the threads again")
        return tid

    def frame(self, number: int) -> FrameHandle:
        """The frame with this number. Raises StaleHandle for one of an earlier stop."""
        handle = self.handles.frames.get(number)
        self.session.inspector.check_epoch(handle.epoch)
        return handle
