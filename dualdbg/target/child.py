"""A process that somebody else has started, and that a session debugs as if dualdbg had launched it."""

from __future__ import annotations

import os
import signal
from typing import Protocol

from ..errors import TargetGone
from ..model import Exit
from ..system.process_end import HeldProcess
from .guard import KILL_TARGET, Guard


class Program(Protocol):
    """The launched program. When it ends, every process that descends from it ends too, unless it was spared."""

    def spare(self, pid: int) -> None:
        """The process is to outlive the program."""
        ...

    def keep(self, pid: int) -> None:
        """The process is to end with the program after all. From now on :meth:`how_ended` may be asked."""
        ...

    async def how_ended(self, pid: int) -> Exit:
        """How a process that is reaped has ended; empty where its parent has reaped it, and the status with it."""
        ...


class Child:
    """Raises TargetGone when it has ended."""

    left = ()  # what it leaves ends with the launched program

    def __init__(self, pid: int, program: Program) -> None:
        self._program = program
        program.keep(pid)  # it may have been detached as what it was before exec
        self.pid = pid
        try:
            self._held = HeldProcess(pid)
        except ProcessLookupError as error:
            raise TargetGone(f"process {pid} has ended") from error
        self._guard: Guard | None = None
        self._killed = False

    def joined(self) -> None:
        """From now on it belongs to the session: it does not outlive dualdbg."""
        if self._held.gone.is_set():  # another process may have its number
            return
        self._guard = Guard(KILL_TARGET)
        os.write(self._guard.pipe, f"{self.pid}\n".encode())

    async def wait(self) -> Exit:
        """Waits for its end. Empty where only its parent and gdb know how it ended."""
        await self._held.gone.wait()
        self._call_off()
        if self._killed:
            return Exit(signal=signal.SIGKILL)
        return self._held.exit or await self._program.how_ended(self.pid)

    def kill(self) -> None:
        """Ends it. A process that has not joined yet runs on, and its connection closes."""
        if self._guard is not None:
            self.end()

    def end(self) -> None:
        """Ends it, also while it joins: without its gdb it cannot run on."""
        if self._held.gone.is_set():
            return
        self._killed = True
        self._held.send(signal.SIGKILL)

    def detach(self) -> None:
        """From now on it outlives dualdbg."""
        if not self._held.gone.is_set():
            self._program.spare(self.pid)
        self._call_off()

    def close(self) -> None:
        """Its session is over."""
        self._held.close()

    async def cleared(self) -> None:
        """Nothing to wait for: what descends from it ends with the launched program."""

    def _call_off(self) -> None:
        if self._guard is not None:
            self._guard.release()
