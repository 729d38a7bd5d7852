"""A process that somebody else has started, and that a session debugs as if dualdbg had launched it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Protocol

from ..errors import TargetGone
from ..model import Exit
from ..patience import patient
from ..process_end import end_of
from .guard import KILL_TARGET, Guard

_GRACE = patient(2.0)  # seconds in which gdb says how the process ended


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
    """Held by a pidfd (pidfd_open(2)), so that its number stays its own. Raises TargetGone when it has ended."""

    left = 0  # what it leaves ends with the launched program: nothing is counted here

    def __init__(self, pid: int, program: Program) -> None:
        self._program = program
        program.keep(pid)  # it may have been detached as what it was before exec
        self.pid = pid
        try:
            self._descriptor = os.pidfd_open(pid)
        except ProcessLookupError as error:
            raise TargetGone(f"process {pid} has ended") from error
        self._guard: Guard | None = None
        self._killed = False
        self._gone = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._descriptor, self._ended)

    def _ended(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._gone.set()

    def joined(self) -> None:
        """From now on it belongs to the session: it does not outlive dualdbg."""
        if self._gone.is_set():  # another process may have its number
            return
        self._guard = Guard(KILL_TARGET)
        os.write(self._guard.pipe, f"{self.pid}\n".encode())

    async def wait(self) -> Exit:
        """Waits for its end. Empty where only its parent and gdb know how it ended."""
        await self._gone.wait()
        self._call_off()
        if self._killed:
            return Exit(signal=signal.SIGKILL)
        return end_of(self.pid) or await self._program.how_ended(self.pid)

    async def watch(self, gdb_told: asyncio.Event, tell: Callable[[Exit], None]) -> None:
        """Call ``tell`` at its end, once gdb has had its time: it knows more, and ``gdb_told`` is set when it has told.

        It is set as well when gdb has ended, and tells nothing any more.
        """
        found = await self.wait()
        if not self._killed:
            try:
                await asyncio.wait_for(gdb_told.wait(), _GRACE)
            except asyncio.TimeoutError:
                pass
        tell(found)

    def kill(self) -> None:
        """Ends it. A process that has not joined yet runs on, and its connection closes."""
        if self._guard is not None:
            self.end()

    def end(self) -> None:
        """Ends it, also while it joins: without its gdb it cannot run on."""
        if self._gone.is_set():
            return
        self._killed = True
        try:
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended a moment ago

    def detach(self) -> None:
        """From now on it outlives dualdbg."""
        if not self._gone.is_set():
            self._program.spare(self.pid)
        self._call_off()

    async def cleared(self) -> None:
        """Nothing to wait for: what descends from it ends with the launched program."""

    def _call_off(self) -> None:
        if self._guard is not None:
            self._guard.release()
