"""Looks at a native stop: who sent the signal, whose stop it is, where the program is, what is shown of it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ...backends.events import NativeStopped
from ...errors import CommandError
from ...known.crash_signals import OF_MEMORY_NAMES
from ...model import Thread
from ...shared.requests.process import ForgetProgram
from ...shared.requests.threads import ListThreads, ReadFaultAddress, WasSentByTerminal
from ...stacks.roles import first_of_user
from .facts import Picture, Sender

if TYPE_CHECKING:
    from ..engines import NativeEngine
    from ..inspect.inspector import Inspector
    from ..stepping.freezing import Freezer


class Scene:
    """What is read of a stop besides breakpoints and steps. gdb holds the target."""

    def __init__(self, native: NativeEngine, inspector: Inspector, freezer: Freezer) -> None:
        self._native = native
        self._inspector = inspector
        self._freezer = freezer

    @property
    def target_runs(self) -> bool:
        """Whether gdb lets the target run. A program that was killed has no stop any more."""
        return self._native.running

    async def sender(self) -> Sender:
        """Who sent the signal. Where gdb does not know, it is taken for the Ctrl-C of a terminal."""
        with contextlib.suppress(CommandError):
            if not await self._native.ask(WasSentByTerminal()):
                return Sender.OTHER
        return Sender.TERMINAL

    async def fault_address(self, stop: NativeStopped) -> int | None:
        """The address that a SIGSEGV or SIGBUS is about; None for other signals, and where gdb does not know."""
        if stop.signal in OF_MEMORY_NAMES:
            with contextlib.suppress(CommandError):
                return await self._native.ask(ReadFaultAddress())
        return None

    async def thread(self, stop: NativeStopped) -> tuple[int, int]:
        """The thread of a stop, by gdb's number and the OS thread id."""
        number, tid = stop.gdb_thread or 1, stop.thread
        if tid is None:
            tid = (await self._native.ask(ListThreads())).get(number, self._inspector.pid)
        return number, tid

    async def main_thread(self, stop: NativeStopped) -> tuple[int, int]:
        """The same for a pause: the main thread.

        Any thread may have taken the SIGINT, but a user who wants a pause means the program.
        """
        threads = await self._native.ask(ListThreads())
        pid = self._inspector.pid
        number = next((one for one, tid in threads.items() if tid == pid), stop.gdb_thread or 1)
        return number, threads.get(number, pid)

    async def runs_python(self, tid: int) -> bool:
        """Whether the thread runs Python code, so that debugpy could pause it."""
        return self._inspector.hears_python and await self._inspector.runs_python(tid)

    async def program_replaced(self) -> None:
        """The process runs another program: what was known of its threads is about the earlier one's."""
        await self._native.ask(ForgetProgram())
        self._freezer.program_replaced()
        self._inspector.program_replaced()
        await self._native.ask(ListThreads())  # gdb numbers them anew, perhaps

    async def release(self) -> None:
        """Put frozen threads back to where they stood, before anything is looked at."""
        await self._freezer.release()

    def plain_thread(self, stop: NativeStopped) -> Thread:
        """The thread of a stop, by number and name. Nothing is asked."""
        return self._inspector.plain_thread(stop.thread)

    async def picture(self, tid: int, step_done: bool, in_runtime: bool) -> Picture:
        """What is shown of the stop. ``in_runtime``: where the innermost frame is a run-time library's, it is about
        what the user's code did.
        """
        thread = await self._inspector.thread(tid)
        visible = await self._inspector.visible_frames(tid)
        number = first_of_user(visible) if in_runtime else 0
        return Picture(thread, visible[number] if visible else None, step_done, number)
