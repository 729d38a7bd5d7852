"""Looks at a stopped target: threads, stacks, variables and expressions of either language."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from ..backends import events as engine
from ..errors import CommandError, EvaluationError, StaleHandle, WrongState
from ..model import (
    Frame,
    Language,
    NativeFrame,
    Notice,
    Output,
    PythonFrame,
    Quality,
    Role,
    Stack,
    State,
    Thread,
    Value,
)
from ..snapshot.procfs import namespace_tids
from ..stacks.roles import assign_roles
from .crossing import is_of_system
from .log_text import split_log
from .stack_reader import StackReader
from .thread_list import ThreadList
from .values import ValueReader

if TYPE_CHECKING:
    from .holds import PythonHold
    from .session import Session

_THREAD_ID = "__import__('threading').get_native_id()"


class Inspector:
    """Reads, and keeps what it read until the target runs again."""

    def __init__(self, session: Session, reader: StackReader) -> None:
        self._session = session
        self.reader = reader
        self._stacks: dict[int, Stack] = {}
        self._gdb_threads: dict[int, int] = {}  # OS thread id -> gdb's number
        self._tids: dict[int, int] = {}  # debugpy's thread number -> OS thread id
        self.values = ValueReader(session, self)
        self.thread_list = ThreadList(session)
        self.owed = 0  # answers of debugpy that a native stop holds up

    def forget(self, as_read_now: bool = False) -> None:
        """The target runs, or has stopped again: every handle of the stop before is stale.

        ``as_read_now``: what was read of the target's threads since it stopped still holds.
        """
        self._stacks.clear()
        self.values.forget()
        if not as_read_now:
            self._gdb_threads.clear()
            self.reader.forget()

    def meet(self, event: engine.NativeStopped) -> None:
        """gdb says which thread has stopped."""
        if event.thread is not None and event.gdb_thread is not None:
            self._gdb_threads[event.thread] = event.gdb_thread

    # -- debugpy --------------------------------------------------------------------------------

    async def ask(self, command: str, arguments: dict[str, Any], deadline: float = 20.0) -> dict[str, Any]:
        """A request to debugpy that gives way to a native stop.

        Raises WrongState when gdb stops the target first: debugpy answers when the target runs again.
        """
        session = self._session
        if session.python is None or not session.python.connected:
            raise WrongState("debugpy is not connected to the target", "native commands work")
        if session.native_held.is_set():
            raise WrongState("gdb holds the target, and debugpy is mute until it runs again", "type continue")
        answer = asyncio.ensure_future(session.python.request(command, arguments, deadline))
        held = asyncio.ensure_future(session.native_held.wait())
        try:
            await asyncio.wait({answer, held}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            answer.add_done_callback(_ignore)
            raise
        finally:
            held.cancel()
        if answer.done():
            return answer.result()
        self.owed += 1
        answer.add_done_callback(self._late_answer)
        raise WrongState("a native stop came before debugpy's answer", "type continue to let it go on")

    def _late_answer(self, answer: asyncio.Future[dict[str, Any]]) -> None:
        self.owed -= 1
        if self._session.python_holds:
            self._session.background(self._session.python_stops.announce())
        if answer.cancelled() or answer.exception() is not None:
            return
        result = answer.result().get("result")
        if result:
            self._session.emit(Output("console", f"{result}\n"))

    async def read_hold(self, hold: PythonHold) -> bool:
        """Learn the frames and the OS thread of a thread that debugpy holds; False when gdb stopped first."""
        number = hold.event.debugpy_thread
        try:
            trace = await self.ask("stackTrace", {"threadId": number, "startFrame": 0, "levels": 1})
            hold.frames = trace.get("stackFrames", [])
            hold.depth = int(trace.get("totalFrames") or len(hold.frames))
            if number not in self._tids and hold.frames:
                frame_id = hold.frames[0]["id"]
                answer = await self.ask(
                    "evaluate", {"expression": _THREAD_ID, "frameId": frame_id, "context": "watch"}
                )
                inner = int(answer["result"])  # the target may be in a container, with numbers of its own
                self._tids[number] = namespace_tids(self._session.pid).get(inner, inner)
        except WrongState:
            return False
        hold.tid = self._tids.get(number, self._session.pid)
        return True

    def python_top(self, hold: PythonHold) -> PythonFrame | None:
        return _debugpy_frame(hold.frames[0]) if hold.frames else None

    def learn_thread(self, number: int, tid: int) -> None:
        """debugpy's ``number`` is the OS thread ``tid``."""
        self._tids[number] = tid

    def debugpy_thread(self, tid: int) -> int | None:
        return next((number for number, known in self._tids.items() if known == tid), None)

    # -- threads --------------------------------------------------------------------------------

    def thread_name(self, tid: int) -> str:
        try:
            return Path(f"/proc/{self._session.pid}/task/{tid}/comm").read_text().strip()
        except OSError:
            return "?"

    async def thread(self, tid: int) -> Thread:
        """One thread, with what is known of its Python side (gdb holds the target)."""
        python = next((one for one in self.reader.python_threads() if one.tid == tid), None)
        return Thread(tid, self.thread_name(tid), holds_gil=python.holds_gil if python else None)

    async def threads(self) -> list[Thread]:
        """Every thread of the program, the current one first; a running target is halted for a moment."""

        rows: list[Thread] = await self._session.interrupted(self.thread_list.described)
        current = self._session.stop.thread.tid if self._session.stop else None
        return sorted(rows, key=lambda thread: (thread.tid != current, thread.tid))

    # -- stacks ---------------------------------------------------------------------------------

    async def stack(self, tid: int | None = None) -> Stack:
        """The merged stack of a thread of the stopped target (that of the stop by default)."""
        stop = self._session.require_stopped()
        tid = stop.thread.tid if tid is None else tid
        if tid in self._stacks:
            return self._stacks[tid]
        if self._session.state is State.PYTHON_STOPPED:
            stack = await self._stack_at_python_stop(tid)
        else:
            stack = await self._stack_of(tid)
        self._stacks[tid] = stack
        return stack

    async def stacks(self) -> list[Stack]:
        """The merged stack of every thread."""
        return [await self.stack(thread.tid) for thread in await self.threads()]

    async def top_frame(self, tid: int) -> Frame | None:
        visible = (await self._stack_of(tid)).visible()
        return visible[0] if visible else None

    async def innermost(self, tid: int) -> Frame | None:
        frames = (await self._stack_of(tid)).frames
        return frames[0] if frames else None

    async def runs_python(self, tid: int) -> bool:
        """Whether the thread executes Python code right now, not native code that Python called.

        With the GIL, what the interpreter calls of the C library (an allocation, a copy) is a part of that.
        """
        visible = (await self._stack_of(tid)).visible()
        python = next((at for at, frame in enumerate(visible) if isinstance(frame, PythonFrame)), None)
        if python is None:
            return False
        libraries = {frame.library or "" for frame in visible[:python] if isinstance(frame, NativeFrame)}
        return not libraries or (all(map(is_of_system, libraries)) and await self.holds_gil(tid))

    async def holds_gil(self, tid: int) -> bool:
        """Whether the thread holds the GIL (gdb holds the target)."""
        return any(one.tid == tid and one.holds_gil for one in self.reader.python_threads())

    async def gdb_thread(self, tid: int) -> int:
        if tid not in self._gdb_threads:
            numbers = await self._session.native.threads()
            self._gdb_threads = {known: number for number, known in numbers.items()}
        if tid in self._gdb_threads:
            return self._gdb_threads[tid]
        raise CommandError(f"there is no thread {tid}", "info threads lists them")

    async def stack_while_held(self, tid: int) -> Stack:
        """The merged stack of any thread while gdb holds the target."""
        return await self.reader.stack(tid, await self.gdb_thread(tid))

    async def _stack_of(self, tid: int) -> Stack:
        if tid not in self._stacks:
            stack = await self.stack_while_held(tid)
            hold = self._session.native_hold
            if hold is not None and hold.tid == tid and hold.innermost_matters:
                stack = replace(stack, frames=_innermost_shown(stack.frames))
            self._stacks[tid] = stack
        return self._stacks[tid]

    async def _stack_at_python_stop(self, tid: int) -> Stack:
        """debugpy's frames, and the native ones from a short halt; without the halt, Python's alone."""
        named = await self._debugpy_frames(tid)

        try:
            stack: Stack = await self._session.interrupted(lambda: self.stack_while_held(tid))
        except WrongState:
            raise
        except CommandError as error:
            return self._python_only(tid, named, error.message)
        if named and not any(isinstance(frame, PythonFrame) for frame in stack.frames):
            return self._python_only(tid, named, stack.note)  # memory could not be read, but debugpy knows
        frames = _with_engine_ids(stack.frames, named)
        if self._was_left(tid) and named and not any(_is_frame(frame, named[0]) for frame in frames):
            return self._python_only(
                tid, named, "the exception has left these frames: they are its traceback's"
            )
        return replace(stack, frames=_from_the_stop_on(frames, named))

    def _was_left(self, tid: int) -> bool:
        """Whether debugpy shows an exception's traceback for the thread, at the end of the thread's own code."""
        holds = self._session.python_holds.values()
        return any(hold.tid == tid and hold.event.reason == "exception" for hold in holds)

    def _python_only(self, tid: int, named: list[PythonFrame], note: str | None) -> Stack:
        return Stack(tid, tuple(assign_roles(list(named), self.reader.rules)), Quality.PYTHON_ONLY, note)

    async def _debugpy_frames(self, tid: int) -> list[PythonFrame]:
        number = self.debugpy_thread(tid)
        if number is None:
            return []
        trace = await self.ask("stackTrace", {"threadId": number})
        return [_debugpy_frame(row) for row in trace.get("stackFrames", ())]

    # -- small questions of the judge -------------------------------------------------------------

    async def write_log(self, text: str, gdb_thread: int) -> None:
        """Write a log point's text with its expressions evaluated in a thread's innermost frame."""
        written = await self._session.native.helper("log-text", gdb_thread, *split_log(text))
        self._session.emit(Output("console", f"{written}\n"))

    # -- variables and expressions ----------------------------------------------------------------

    def check_epoch(self, epoch: int) -> None:
        if epoch != self._session.epoch:
            raise StaleHandle("that belongs to an earlier stop", "look at the stack again")

    async def variables(self, tid: int, frame: Frame) -> list[Value]:
        """Arguments and locals of a frame of the stack of this stop."""
        return await self.values.variables(tid, frame)

    async def children(self, reference: int) -> list[Value]:
        return await self.values.children(reference)

    async def evaluate(self, expression: str, tid: int, frame: Frame, language: Language) -> Value:
        """Evaluate in a frame. Raises EvaluationError when it fails or would not be sound."""
        if language is Language.NATIVE:
            return await self.values.evaluate_native(expression, tid, frame)
        if self._session.state is not State.PYTHON_STOPPED:
            if not isinstance(frame, PythonFrame):
                raise EvaluationError(
                    "Python code cannot be run while gdb holds the target",
                    "up and down select a Python frame, whose variables are read from memory",
                )
            return await self.values.evaluate_memory(expression, tid, frame)
        return await self.values.evaluate_python(expression, frame)

    def warn(self, message: str, hint: str = "") -> None:
        self._session.emit(Notice("warning", message, hint))


def _is_frame(frame: Frame, named: PythonFrame) -> bool:
    return isinstance(frame, PythonFrame) and frame.engine_id == named.engine_id


def _innermost_shown(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """The interpreter's own function in which gdb stopped is no plumbing to a user who set a breakpoint on it."""
    first, *rest = frames or (None,)
    if not isinstance(first, NativeFrame) or first.role is not Role.PLUMBING:
        return frames
    return (replace(first, role=Role.USER), *rest)


def _ignore(answer: asyncio.Future[dict[str, Any]]) -> None:
    """Nobody waits any more: how it ended is no news."""
    if not answer.cancelled():
        answer.exception()


def _debugpy_frame(row: dict[str, Any]) -> PythonFrame:
    source = row.get("source") or {}
    name = str(row["name"]).removesuffix(" (Current frame)")  # debugpy's mark in a traceback
    return PythonFrame(name, source.get("path"), row.get("line"), engine_id=int(row["id"]))


def _with_engine_ids(frames: tuple[Frame, ...], named: list[PythonFrame]) -> tuple[Frame, ...]:
    """The same frames, those that debugpy named with its ids: both lists are innermost first."""
    waiting = list(named)
    result: list[Frame] = []
    for frame in frames:
        if isinstance(frame, PythonFrame):
            for index, candidate in enumerate(waiting):
                if _same(frame, candidate):
                    frame = replace(frame, engine_id=candidate.engine_id)
                    del waiting[: index + 1]
                    break
        result.append(frame)
    return tuple(result)


def _from_the_stop_on(frames: tuple[Frame, ...], named: list[PythonFrame]) -> tuple[Frame, ...]:
    """A function that is just returning to where debugpy stopped is still there, and no news: it is folded away."""
    ids = [frame.engine_id if isinstance(frame, PythonFrame) else None for frame in frames]
    if not named or named[0].engine_id not in ids:
        return frames
    top = ids.index(named[0].engine_id)
    return (*(replace(frame, role=Role.PLUMBING) for frame in frames[:top]), *frames[top:])


def _same(frame: PythonFrame, named: PythonFrame) -> bool:
    if frame.line != named.line or frame.file is None or named.file is None:
        return False
    if PurePath(frame.file).name != PurePath(named.file).name:
        return False
    return frame.function.rsplit(".", 1)[-1] == named.function.rsplit(".", 1)[-1]
