"""A program whose interpreter is started by another program, a wrapper, that waits for it: ``uv run``, a shell script.

The launcher starts the wrapper. The program is the process below it that calls us and has the program's command line
(``bootstrap/sitecustomize.py``); everything below the wrapper ends with the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from ..errors import TargetError, TargetGone
from ..model import Exit
from ..system.patience import patient
from ..system.process_end import HeldProcess
from ..system.waiting import to_its_end
from .calls import MeetingPoint
from .descent import descends_from
from .launcher import Launch

# Seconds from the start of a wrapper until the program calls: it may have to make an environment first.
CALL_DEADLINE = patient(120.0)
# Seconds that a wrapper has to end by itself once the program has ended; then it is ended.
WRAPPER_GRACE = patient(2.0)
_HINT = "name the interpreter itself, or a wrapper that passes on the command line and the environment that it gets"


class WrappedTarget:
    """The program's process, and below what it was started. Raises TargetGone when it has ended."""

    def __init__(self, pid: int, wrapper: Any) -> None:
        self.pid = pid
        self._wrapper = wrapper
        wrapper.keep(pid)
        try:
            self._held = HeldProcess(pid)
        except ProcessLookupError as error:
            raise TargetGone(f"process {pid} has ended") from error

    @property
    def left(self) -> Sequence[str]:
        """Return the processes that outlived the wrapper and were ended, ``PID NAME``."""
        return list(self._wrapper.left)

    async def wait(self) -> Exit:
        """How the program ended; empty where only its parent and gdb know. The wrapper has a moment to end, too."""
        await self._held.gone.wait()
        exit = self._held.exit or await self._wrapper.how_ended(self.pid)
        ending = asyncio.ensure_future(self._wrapper.wait())
        await asyncio.wait({ending}, timeout=WRAPPER_GRACE)
        ending.cancel()
        return exit

    def kill(self) -> None:
        """End the program, its wrapper, and all that descends from them."""
        self._wrapper.kill()

    async def cleared(self) -> None:
        """Wait until everything has ended that :meth:`kill` ends."""
        await self._wrapper.cleared()

    def detach(self) -> None:
        """Let all of them live on when dualdbg ends."""
        self._wrapper.detach()

    def spare(self, pid: int) -> None:
        """This descendant outlives dualdbg."""
        self._wrapper.spare(pid)

    def keep(self, pid: int) -> None:
        """It does not, after all."""
        self._wrapper.keep(pid)

    async def how_ended(self, pid: int) -> Exit:
        """How a descendant has ended that is reaped."""
        exit: Exit = await self._wrapper.how_ended(pid)
        return exit

    def close(self) -> None:
        """The session is over."""
        self._held.close()


async def program_of(wrapper: Any, what: Launch, point: MeetingPoint) -> Any:
    """The program that the wrapper starts, which stands before its first line. Raises TargetError when none calls.

    It is a :class:`WrappedTarget`, or the wrapper itself where that has become the program (exec).
    Nothing of the wrapper is left when it raises.
    """
    try:
        return await _called(wrapper, what, point)
    except BaseException:
        wrapper.kill()
        await to_its_end(wrapper.cleared())
        raise


async def _called(wrapper: Any, what: Launch, point: MeetingPoint) -> Any:
    ended = asyncio.ensure_future(wrapper.wait())
    waits: set[asyncio.Future[Any]] = {ended, point.caller, point.failure}
    try:
        await asyncio.wait(waits, timeout=CALL_DEADLINE, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended.cancel()
    if point.failure.done():
        raise TargetError(f"debugpy cannot be started in it: {point.failure.result().splitlines()[-1]}")
    if point.caller.done():
        pid = point.caller.result()
        if not pid or not descends_from(pid, {wrapper.pid}):
            raise TargetError(f"process {pid} called, which {what.python} has not started", _HINT)
        return wrapper if pid == wrapper.pid else WrappedTarget(pid, wrapper)
    program = " ".join(what.what())
    if ended.done() and not ended.cancelled():
        how = ended.result().in_words()
        raise TargetError(f"{what.python} {how}, and started no Python for {program} that called", _HINT)
    raise TargetError(f"{what.python} has started no Python for {program} within {CALL_DEADLINE:g} s", _HINT)
