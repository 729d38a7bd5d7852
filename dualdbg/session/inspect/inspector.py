"""Looks at a stopped target: threads, stacks, variables and expressions of either language."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from ...backends import events as engine
from ...backends import python as debugpy
from ...backends.python import Answer, PythonRequest, PythonValue, StackFrame
from ...errors import CommandError, EvaluationError, StaleHandle, WrongState
from ...model import (
    Frame,
    Language,
    NativeFrame,
    Output,
    PythonFrame,
    Quality,
    Role,
    Stack,
    State,
    Thread,
    Value,
)
from ...shared.libraries import is_system
from ...snapshot.linux.procfs import namespace_tids
from ...snapshot.report.assemble import waits_for_gil
from ...stacks.roles import assign_roles
from ..engines import NativeEngine, PythonEngine
from ..log_text import split_log
from ..loop import Loop
from ..ports import Halting
from ..state import TargetState
from .stack_reader import StackReader
from .thread_list import ThreadList
from .values import ValueReader

if TYPE_CHECKING:
    from ..stops.facts import PythonHold

_THREAD_ID = "__import__('threading').get_native_id()"


class Inspector:
    """Reads, and keeps what it read until the target runs again."""

    def __init__(
        self,
        loop: Loop,
        native: NativeEngine,
        python: PythonEngine | None,
        halting: Halting,
        reader: StackReader,
    ) -> None:
        self._loop = loop
        self._native = native
        self._python = python
        self._halting = halting
        self.reader = reader
        self._stacks: dict[int, Stack] = {}
        self._gdb_threads: dict[int, int] = {}  # OS thread id -> gdb's number
        self._tids: dict[int, int] = {}  # debugpy's thread number -> OS thread id
        self.values = ValueReader(loop, native, halting, self)
        self.thread_list = ThreadList(loop, native, self)

    def forget(self, as_read_now: bool = False) -> None:
        """The target runs, or has stopped again: every handle of the stop before is stale.

        ``as_read_now``: what was read of the target's threads since it stopped still holds.
        """
        self._stacks.clear()
        self.values.forget()
        if not as_read_now:
            self._gdb_threads.clear()
            self.reader.forget()

    def ran(self) -> None:
        """gdb has let the target run: what it said of frames does not hold any more, nor of threads.

        At a Python stop, where a halt of ours has ended, gdb's numbers of the threads are kept.
        """
        if self._loop.state.phase is not State.PYTHON_STOPPED:
            self._gdb_threads.clear()
        self.reader.forget()

    def meet(self, event: engine.NativeStopped) -> None:
        """gdb has stopped the target, and says in which thread."""
        self.reader.forget()
        if event.thread is not None and event.gdb_thread is not None:
            self._gdb_threads[event.thread] = event.gdb_thread

    # -- debugpy --------------------------------------------------------------------------------

    async def relay(self, command: str, arguments: dict[str, Any], deadline: float = 20.0) -> dict[str, Any]:
        """As :meth:`ask`, for an editor that speaks debugpy's own protocol and gets the answer as it is."""
        return await self.ask(debugpy.as_it_is(command, arguments), deadline)

    async def ask(self, request: PythonRequest[Answer], deadline: float = 20.0) -> Answer:
        """A request to debugpy that gives way to a native stop.

        Raises WrongState when gdb stops the target first: debugpy answers when the target runs again.
        """
        if self._python is None or not self._python.connected:
            raise WrongState("debugpy is not connected to the target", "native commands work")
        if self._loop.native_held.is_set():
            raise WrongState("gdb holds the target, and debugpy is mute until it runs again", "type continue")
        answer = asyncio.ensure_future(self._python.request(request, deadline))
        held = asyncio.ensure_future(self._loop.native_held.wait())
        try:
            await asyncio.wait({answer, held}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            answer.add_done_callback(_ignore)
            raise
        finally:
            held.cancel()
        if answer.done():
            return answer.result()
        self._loop.put(TargetState.answer_owed)
        answer.add_done_callback(self._late_answer)
        raise WrongState("a native stop came before debugpy's answer", "type continue to let it go on")

    def _late_answer(self, answer: asyncio.Future[Any]) -> None:
        self._loop.put(TargetState.answer_came)
        if answer.cancelled() or answer.exception() is not None:
            return
        result = answer.result()
        text = (
            result.get("result")
            if isinstance(result, dict)
            else result.text
            if isinstance(result, PythonValue)
            else None
        )
        if text:
            self._loop.tell(Output("console", f"{text}\n"))

    @property
    def hears_python(self) -> bool:
        """Whether debugpy is there, mute or not."""
        return self._python is not None and self._python.connected

    async def read_hold(self, hold: PythonHold) -> None:
        """Learn the frames and the OS thread of a thread that debugpy holds.

        Raises WrongState when gdb stopped the target first.
        """
        number = hold.event.debugpy_thread
        trace = await self.ask(debugpy.stack_trace(number, levels=1))
        frames = trace.frames
        if number not in self._tids and frames:
            inner = int((await self.ask(debugpy.evaluate(_THREAD_ID, frames[0].id))).text)
            # The target may be in a container, with numbers of its own.
            self._tids[number] = namespace_tids(self.pid).get(inner, inner)
        hold.frames = frames
        hold.depth = trace.total
        hold.top = _debugpy_frame(frames[0]) if frames else None
        hold.tid = self._tids.get(number, self.pid)

    def learn_thread(self, number: int, tid: int) -> None:
        """debugpy's ``number`` is the OS thread ``tid``."""
        self._tids[number] = tid

    def debugpy_thread(self, tid: int) -> int | None:
        return next((number for number, known in self._tids.items() if known == tid), None)

    # -- threads --------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        return self._loop.state.pid

    def plain_thread(self, tid: int | None) -> Thread:
        """A thread by number and name alone: nothing is asked. The main one without ``tid``."""
        tid = tid or self.pid
        return Thread(tid, self.thread_name(tid))

    def thread_name(self, tid: int) -> str:
        try:
            return Path(f"/proc/{self._loop.state.pid}/task/{tid}/comm").read_text().strip()
        except OSError:
            return "?"

    async def thread(self, tid: int) -> Thread:
        """One thread, with what is known of its Python side (gdb holds the target)."""
        python = next((one for one in self.reader.python_threads() if one.tid == tid), None)
        return Thread(tid, self.thread_name(tid), holds_gil=python.holds_gil if python else None)

    async def threads(self) -> list[Thread]:
        """Every thread of the program, the current one first; a running target is halted for a moment."""

        rows: list[Thread] = await self._halting.interrupted(self.thread_list.described)
        current = self._loop.state.stop.thread.tid if self._loop.state.stop else None
        return sorted(rows, key=lambda thread: (thread.tid != current, thread.tid))

    # -- stacks ---------------------------------------------------------------------------------

    async def stack(self, tid: int | None = None) -> Stack:
        """The merged stack of a thread of the stopped target (that of the stop by default)."""
        stop = self._loop.state.require_stopped()
        tid = stop.thread.tid if tid is None else tid
        if tid in self._stacks:
            return self._stacks[tid]
        if self._loop.state.phase is State.PYTHON_STOPPED:
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

        What the interpreter calls of the C library (an allocation, a copy) is a part of that with the GIL. So is the
        wait for the GIL, which another thread has for this moment.
        """
        stack = await self._stack_of(tid)
        visible = stack.visible()
        if not any(isinstance(frame, PythonFrame) for frame in visible):
            return False
        libraries = {frame.library or "" for frame in _native_top(visible)}
        if not all(map(is_system, libraries)):
            return False
        return not libraries or waits_for_gil(_native_top(stack.frames)) or await self.holds_gil(tid)

    async def holds_gil(self, tid: int) -> bool:
        """Whether the thread holds the GIL (gdb holds the target)."""
        return any(one.tid == tid and one.holds_gil for one in self.reader.python_threads())

    async def gdb_thread(self, tid: int) -> int:
        if tid not in self._gdb_threads:
            numbers = await self._native.threads()
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
            hold = self._loop.state.native
            if hold is not None and hold.tid == tid and hold.innermost_matters:
                stack = replace(stack, frames=_innermost_shown(stack.frames))
            self._stacks[tid] = stack
        return self._stacks[tid]

    async def _stack_at_python_stop(self, tid: int) -> Stack:
        """debugpy's frames, and the native ones from a short halt; without the halt, Python's alone."""
        named = await self._debugpy_frames(tid)

        try:
            stack: Stack = await self._halting.interrupted(lambda: self.stack_while_held(tid))
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
        holds = self._loop.state.python_holds.values()
        return any(hold.tid == tid and hold.event.cause is engine.PythonCause.EXCEPTION for hold in holds)

    def _python_only(self, tid: int, named: list[PythonFrame], note: str | None) -> Stack:
        return Stack(tid, tuple(assign_roles(list(named), self.reader.rules)), Quality.PYTHON_ONLY, note)

    async def _debugpy_frames(self, tid: int) -> list[PythonFrame]:
        number = self.debugpy_thread(tid)
        if number is None:
            return []
        trace = await self.ask(debugpy.stack_trace(number))
        return [_debugpy_frame(row) for row in trace.frames]

    # -- small questions of the judge -------------------------------------------------------------

    async def write_log(self, text: str, gdb_thread: int) -> None:
        """Write a log point's text with its expressions evaluated in a thread's innermost frame."""
        written = await self._native.log_text(gdb_thread, *split_log(text))
        self._loop.tell(Output("console", f"{written}\n"))

    # -- variables and expressions ----------------------------------------------------------------

    def check_epoch(self, epoch: int) -> None:
        if epoch != self._loop.state.epoch:
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
        if self._loop.state.phase is not State.PYTHON_STOPPED:
            if not isinstance(frame, PythonFrame):
                raise EvaluationError(
                    "Python code cannot be run while gdb holds the target",
                    "up and down select a Python frame, whose variables are read from memory",
                )
            return await self.values.evaluate_memory(expression, tid, frame)
        return await self.values.evaluate_python(expression, frame)


def _is_frame(frame: Frame, named: PythonFrame) -> bool:
    return isinstance(frame, PythonFrame) and frame.engine_id == named.engine_id


def _native_top(frames: Sequence[Frame]) -> list[NativeFrame]:
    """The native frames above the innermost Python frame."""
    above: list[NativeFrame] = []
    for frame in frames:
        if not isinstance(frame, NativeFrame):
            break
        above.append(frame)
    return above


def _innermost_shown(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """The interpreter's own function in which gdb stopped is no plumbing to a user who set a breakpoint on it."""
    first, *rest = frames or (None,)
    if not isinstance(first, NativeFrame) or first.role is not Role.PLUMBING:
        return frames
    return (replace(first, role=Role.USER), *rest)


def _ignore(answer: asyncio.Future[Any]) -> None:
    """Nobody waits any more: how it ended is no news."""
    if not answer.cancelled():
        answer.exception()


def _debugpy_frame(row: StackFrame) -> PythonFrame:
    return PythonFrame(row.function, row.file, row.line, engine_id=row.id)


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
