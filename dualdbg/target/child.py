"""A process that somebody else has started, and that a session debugs as if dualdbg had launched it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ..errors import TargetGone
from ..model import Exit
from ..patience import patient
from .guard import KILL_TARGET, Guard

_GRACE = patient(2.0)  # seconds in which gdb says how the process ended


class Program(Protocol):
    """The launched program. When it ends, every process that descends from it ends too, unless it was spared."""

    def spare(self, pid: int) -> None:
        """The process is to outlive the program."""
        ...

    def keep(self, pid: int) -> None:
        """The process is to end with the program after all."""
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
        self._guard = Guard(KILL_TARGET)
        os.write(self._guard.pipe, f"{self.pid}\n".encode())

    async def wait(self) -> Exit:
        """Waits for its end. How it ended only its parent and gdb can know."""
        await self._gone.wait()
        self._call_off()
        return Exit(signal=signal.SIGKILL) if self._killed else _exit_of_zombie(self.pid)

    async def watch(self, ended: asyncio.Event, tell: Callable[[Exit], None]) -> None:
        """Call ``tell`` at its end, unless gdb reports the end, of which it knows more: then ``ended`` is set."""
        found = await self.wait()
        if not self._killed:
            try:
                await asyncio.wait_for(ended.wait(), _GRACE)
            except asyncio.TimeoutError:
                pass
        tell(found)

    def kill(self) -> None:
        """Ends it. A process that has not joined yet runs on, and its connection closes."""
        if self._guard is None or self._gone.is_set():
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


def _exit_of_zombie(pid: int) -> Exit:
    """Field 52 of /proc/PID/stat (proc(5)), in the form of wait(2); empty when its parent has taken it already."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return Exit()
    if fields[0] != "Z":
        return Exit()
    status = int(fields[49])
    return Exit(signal=os.WTERMSIG(status)) if os.WIFSIGNALED(status) else Exit(code=os.WEXITSTATUS(status))
