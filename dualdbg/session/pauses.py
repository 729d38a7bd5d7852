"""Halts of a running target: those that the user asked for, and short ones for work of our own.

Both are a SIGINT of gdb's, which is told from the program's own by counting and from the terminal's by its sender.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ..backends import events as engine
from ..errors import DualdbgError, EngineTimeout
from ..model import Reason, State
from .judge import Verdict

if TYPE_CHECKING:
    from .session import Session

PYTHON_PAUSE_LOOK = 1.0  # seconds until gdb looks whether a program that debugpy was to pause has left Python
PYTHON_PAUSE_LOOKS = (
    10  # debugpy takes longer on a busy machine: a program that is in Python is given that time
)


class Pauses:
    """Who waits for a halt of the target, and whether the user does."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: list[asyncio.Future[bool]] = []
        self.in_python = False  # debugpy was asked to pause
        self._natively = False
        self._looks = 0
        self._not_in_python = False  # debugpy was asked to pause and refused

    def expect(self) -> asyncio.Future[bool]:
        """The next stop is one of our own making: True once it is there, False when another one came instead."""
        halted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(halted)
        return halted

    async def halt(self, deadline: float) -> bool:
        """Halt the running target for work of our own: True once it is, False when a stop of its own came first.

        Who asked for it resumes it. When that one is cancelled, or gives up, the halt still comes: it is ended here.
        Raises EngineTimeout after ``deadline`` seconds.
        """
        halted = self.expect()
        try:
            await self._session.native.interrupt()
            return await asyncio.wait_for(asyncio.shield(halted), deadline)
        except asyncio.TimeoutError:
            halted.add_done_callback(self._end_late_halt)
            raise EngineTimeout(f"the target did not halt within {deadline:g} s", "try again") from None
        except asyncio.CancelledError:
            await asyncio.wait({halted}, timeout=deadline)  # the next command is not to meet it
            halted.add_done_callback(self._end_late_halt)
            raise

    def _end_late_halt(self, halted: asyncio.Future[bool]) -> None:
        if not halted.cancelled() and halted.exception() is None and halted.result():
            self._session.background(self._session.native.resume())

    async def ask(self) -> None:
        """The user wants a stop."""
        self._natively = True
        await self._session.native.interrupt()

    def met(self) -> None:
        """There is a stop: no pause is waited for any more."""
        self.in_python = self._natively = self._not_in_python = False
        self._looks = 0

    def fail(self, error: DualdbgError) -> None:
        """gdb is gone: nobody waits in vain."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_exception(error)
                waiter.exception()  # a halt that nobody waits for any more is no error of its own

    def answer(self, halted: bool) -> None:
        waiters, self._waiting = self._waiting, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(halted)

    async def interrupted_by_signal(self, event: engine.NativeStopped) -> Verdict | None:
        """A SIGINT: one of our own, the user's Ctrl-C, or the program's business."""
        if self._waiting:
            self.answer(True)
            return None
        if self._natively:
            return await self._session.judge.verdict(event)
        sender = await self._session.judge.sender_of_signal()
        if self._waiting:  # somebody has asked for a halt meanwhile: this is one, and gdb makes no second
            self.answer(True)
            return None
        if sender == self._session.native.pid:  # of an interrupt that another stop made needless
            await self._resume()
            return None
        if sender is None and self._session.interrupt_pauses:
            return await self._session.judge.verdict(event)
        await self._session.native.console("signal SIGINT")  # goes on with it; gdb itself would keep it
        return None

    async def pass_over(self) -> Verdict | None:
        """After a stop that the user does not see: on, unless somebody waits for a halt: this is one.

        gdb sends no SIGINT when the target has just stopped by itself, so none may follow.
        """
        self._session.inspector.forget()
        if self._waiting:
            self.answer(True)
            return None
        if self._natively:
            return Reason.PAUSE, (), None
        await self._resume()
        return None

    async def _resume(self) -> None:
        """Go on; a thread that debugpy came to hold while gdb was asked is shown now.

        Not while a native stop is shown: only the user goes on from that, whatever gdb reports after it (a SIGINT that
        came into a call of gdb's is one more stop).
        """
        if self._session.state is State.NATIVE_STOPPED:
            return
        await self._session.native.resume()
        if self._session.python_holds:
            self._session.background(self._session.python_stops.announce())

    async def pause_in_python(self, tid: int) -> bool:
        """A pause while the thread runs Python code becomes a Python stop, where Python can be stepped."""
        python = self._session.python
        if python is None or not python.connected or self._not_in_python:
            return False
        if self._session.python_holds:
            if not self.in_python:
                return False
        elif self._looks == PYTHON_PAUSE_LOOKS or not await self._session.inspector.runs_python(tid):
            self._call_off()
            return False
        if not self.in_python:
            self.in_python = True
            python.post("pause", {"threadId": "*"}, self._python_failed)
        self._session.native_held.clear()
        await self._resume()
        self._session.background(self._watch_python(self._session.epoch))
        return True

    def _call_off(self) -> None:
        if self.in_python and self._session.python is not None:
            self.in_python = False
            self._session.python.post("continue", {"threadId": "*"}, lambda _error: None)

    def _python_failed(self, error: DualdbgError) -> None:
        """debugpy does not pause the program: gdb does, and what debugpy was asked for is called off."""
        if self.in_python and self._session.state is State.RUNNING:
            self._call_off()
            self._natively = self._not_in_python = True
            self._session.background(self._session.native.interrupt())

    async def _watch_python(self, epoch: int) -> None:
        """A thread that has left Python for a long call meets debugpy's pause when it comes back: not soon enough."""
        await asyncio.sleep(PYTHON_PAUSE_LOOK)
        if epoch == self._session.epoch and self.in_python and self._session.state is State.RUNNING:
            self._looks += 1
            await self._session.native.interrupt()
