"""Going on from a stop: continue, next, step, finish and until, in the language of the stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..backends import events as engine
from ..errors import CommandError
from ..model import NativeFrame, Notice, State

if TYPE_CHECKING:
    from .session import Session

_PYTHON_REQUESTS = {"next": "next", "step": "stepIn", "finish": "stepOut", "until": "next"}
_NATIVE_COMMANDS = {
    "next": "-exec-next",
    "step": "-exec-step",
    "finish": "-exec-finish",
    "until": "-exec-until",
}


class Stepper:
    """Resumes the target the way a command asks for."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._temporary: set[int] = set()

    def owns(self, event: engine.NativeStopped) -> bool:
        """Whether gdb stopped at a temporary breakpoint of a step of ours."""
        if event.gdb_breakpoint in self._temporary:
            self._temporary.discard(event.gdb_breakpoint)
            return True
        return False

    async def resume(self) -> None:
        session = self._session
        if session.state is State.NATIVE_STOPPED:
            await self._resume_native()
        else:
            self._resume_python("continue")

    async def step(self, kind: str, location: str | None) -> None:
        session = self._session
        if kind == "until" and location is not None:
            await session.breakpoints.add(location, temporary=True)
            await self.resume()
        elif session.state is State.NATIVE_STOPPED:
            await self._step_native(kind)
        else:
            self._resume_python(_PYTHON_REQUESTS[kind])

    def _resume_python(self, command: str) -> None:
        session = self._session
        assert session.python is not None
        thread = next(iter(session.python_holds), None)
        if thread is None:
            raise CommandError("debugpy holds no thread", "pause the target first")
        undo = session.leave()
        held = dict(session.python_holds)
        session.python_holds.clear()

        def refused(error: CommandError) -> None:
            session.python_holds.update(held)
            undo()
            session.emit(Notice("error", f"{command} was refused: {error.message}"))

        session.python.post(command, {"threadId": thread}, refused)

    async def _resume_native(self) -> None:
        session = self._session
        undo = session.leave()
        try:
            await session.native.resume()
        except CommandError:
            undo()
            raise
        session.native_hold = None
        if session.python_holds:
            session.background(session.announce_python_stop())

    async def _step_native(self, kind: str) -> None:
        session = self._session
        hold = session.native_hold
        assert hold is not None
        command = _NATIVE_COMMANDS[kind]
        frame = await session.inspector.innermost(hold.tid)
        if kind != "finish" and isinstance(frame, NativeFrame) and frame.line is None:
            command = "-exec-finish"  # no line to go to: the next place that has a name is the caller
        undo = session.leave()
        try:
            await session.native.execute(command, hold.gdb_thread)
        except CommandError:
            undo()
            raise
