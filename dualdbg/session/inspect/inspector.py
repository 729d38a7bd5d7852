"""Looks at a stopped target: threads, stacks, variables and expressions of either language."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...backends import events as engine
from ...backends import python as debugpy
from ...backends.python import Answer, PythonRequest
from ...errors import CommandError, EvaluationError, NoSuchThread, StaleHandle, ThreadGone, WrongState
from ...model import (
    Frame,
    Language,
    NativeFrame,
    Output,
    PythonFrame,
    Quality,
    Reason,
    Role,
    Stack,
    State,
    Tasks,
    Thread,
    Value,
)
from ...shared.libraries import is_system
from ...shared.requests.breakpoints import FormatLogText
from ...shared.requests.threads import ListThreads
from ...snapshot.cpython.held_process import Attachment
from ...snapshot.linux.procfs import namespace_tids
from ...stacks.roles import assign_roles
from ...system.patience import patient
from ..engines import NativeEngine, PythonEngine
from ..log_text import split_log
from ..loop import Loop
from ..ports import Halting
from ..stops.facts import PythonHold, PythonPosition
from ..transitions.python import answer_came, answer_owed
from .debugpy_frames import (
    debugpy_frame,
    from_the_stop_on,
    is_frame,
    with_engine_ids,
    with_templates,
    without_chained,
)
from .held_frames import HeldFrames
from .left_out import LeftOut
from .python_objects import NeedsCode
from .stack_reader import StackReader
from .thread_list import ThreadList
from .values import ValueReader

if TYPE_CHECKING:
    from ...snapshot.capture import Held

_DEADLINE = patient(20.0)  # seconds for debugpy to answer
_THREAD_ID = "__import__('pydevd').threading.get_native_id()"


class Inspector:
    """Reads, and keeps what it has read until the target runs again."""

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
        self.held_frames = HeldFrames(reader)
        self.left_out = LeftOut()
        self._stacks: dict[int, Stack] = {}
        self._gdb_threads: dict[int, int] = {}  # OS thread id -> gdb's number
        self._tids: dict[int, int] = {}  # debugpy's thread number -> OS thread id
        self.values = ValueReader(loop, native, halting, self)
        self.thread_list = ThreadList(loop, native, self)

    def forget(self, as_read_now: bool = False) -> None:
        """The target runs, or has stopped again. Every handle of the stop before is stale.

        ``as_read_now``: what was read of the threads since the target stopped is still good.
        """
        self._stacks.clear()
        self.values.forget()
        if not as_read_now:
            self._gdb_threads.clear()
            self.reader.forget()

    def program_replaced(self) -> None:
        """The process runs another program: it has other threads, and other numbers for them."""
        self.forget()
        self._tids.clear()
        self.thread_list.program_replaced()

    def ran(self) -> None:
        """gdb has let the target run. What it said of frames and threads is stale.

        After a halt at a Python stop, gdb's numbers of the threads are kept.
        """
        if self._loop.state.phase is not State.PYTHON_STOPPED:
            self._gdb_threads.clear()
        self.reader.forget()

    def meet(self, event: engine.NativeStopped) -> None:
        """gdb has stopped the target, and says in which thread."""
        self.reader.forget()
        if event.thread is not None and event.gdb_thread is not None:
            self._gdb_threads[event.thread] = event.gdb_thread

    async def held(self) -> Held | None:
        """The process for a snapshot, while gdb shows a stop; None while it lets the process run."""
        if not self._loop.native_held.is_set():
            return None
        from .held import held_by_gdb  # with all that takes snapshots, of which most sessions want nothing

        return await held_by_gdb(self._native, self.reader.image)

    # -- debugpy --------------------------------------------------------------------------------

    async def relay(
        self,
        command: str,
        arguments: dict[str, Any],
        deadline: float = _DEADLINE,
        late: Callable[[dict[str, Any]], str] | None = None,
    ) -> dict[str, Any]:
        """As :meth:`ask`, for an editor that uses debugpy's own protocol and gets the answer unchanged."""
        return await self.ask(debugpy.as_it_is(command, arguments), deadline, late)

    async def ask(
        self,
        request: PythonRequest[Answer],
        deadline: float = _DEADLINE,
        late: Callable[[Answer], str] | None = None,
    ) -> Answer:
        """The answer of debugpy to a request, which gives way to a native stop.

        Raises WrongState when gdb stops the target first. debugpy answers when the target runs again, and
        ``late`` makes a text of that answer for the user. Without ``late`` nothing is said then.
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
        self._loop.put(answer_owed)
        answer.add_done_callback(lambda done: self._late_answer(done, late))
        raise WrongState("a native stop came before debugpy's answer", "type continue to let it go on")

    def _late_answer(self, answer: asyncio.Future[Answer], late: Callable[[Answer], str] | None) -> None:
        """A request that gave way to a native stop was answered."""
        self._loop.put(answer_came)
        if answer.cancelled() or answer.exception() is not None or late is None:
            return
        if text := late(answer.result()):
            self._loop.tell(Output("console", f"{text}\n"))

    @property
    def hears_python(self) -> bool:
        """Whether debugpy is connected, mute or not."""
        return self._python is not None and self._python.connected

    async def python_position(self, number: int) -> PythonPosition:
        """Where debugpy holds the thread to which it gives this number.

        Raises WrongState when gdb stopped the target first, ThreadGone when debugpy has let go of it meanwhile.
        """
        trace = await self.ask(debugpy.stack_trace(number, levels=1))
        frames = trace.frames
        if number not in self._tids and frames:
            told = (await self.ask(debugpy.evaluate(_THREAD_ID, frames[0].id))).text
            if not told.isdecimal():  # "None": the frame that was asked for is gone
                raise ThreadGone("debugpy has let go of the thread", "ask again at its next stop")
            inner = int(told)
            # In a container the target has numbers of its own.
            self._tids[number] = namespace_tids(self.pid).get(inner, inner)
        top = debugpy_frame(frames[0]) if frames else None
        return PythonPosition(self._tids.get(number, self.pid), frames, trace.total, top)

    async def python_hold(self, tid: int) -> PythonHold:
        """What debugpy knows of a thread that it holds: the thread of the Python stop, or another one.

        debugpy suspends every thread that runs Python code. Raises WrongState for a thread in native code, which runs
        on.
        """
        for hold in self._loop.state.python_holds.values():
            if hold.tid == tid:
                return hold
        await self.thread_list.all()  # it learns debugpy's number of each thread
        number = self.debugpy_thread(tid)
        visible = (await self.stack(tid)).visible()
        if number is None or not visible or not isinstance(visible[0], PythonFrame):
            raise WrongState(
                f"thread {tid} is in native code, and runs on while Python is stopped",
                "stop it natively first: a breakpoint in that code, or continue and Ctrl-C while it is there",
            )
        place = await self.python_position(number)
        held = engine.PythonStopped(engine.PythonCause.STEPPED, number)
        return PythonHold(held, place.tid, place.frames, place.depth, place.top, shown=True)

    def learn_thread(self, number: int, tid: int) -> None:
        """debugpy's ``number`` is the OS thread ``tid``."""
        self._tids[number] = tid

    def debugpy_thread(self, tid: int) -> int | None:
        """debugpy's number of an OS thread, as far as it is known."""
        return next((number for number, known in self._tids.items() if known == tid), None)

    # -- threads --------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """The process."""
        return self._loop.state.pid

    def plain_thread(self, tid: int | None) -> Thread:
        """A thread by number and name, the main one without ``tid``. Nothing is asked."""
        tid = tid or self.pid
        return Thread(tid, self.thread_name(tid))

    def thread_name(self, tid: int) -> str:
        """The system's name of a thread; ? where it has ended."""
        try:
            return Path(f"/proc/{self._loop.state.pid}/task/{tid}/comm").read_text().strip()
        except OSError:
            return "?"

    async def thread(self, tid: int) -> Thread:
        """A thread, with what is known of its Python side. gdb holds the target."""
        python = self.reader.python_thread(tid)
        return Thread(tid, self.thread_name(tid), holds_gil=python.holds_gil if python else None)

    async def threads(self) -> list[Thread]:
        """Every thread of the program, the current one first. A running target is halted for a moment."""
        return self._current_first(await self._halting.interrupted(self.thread_list.described))

    async def threads_and_tasks(self) -> tuple[list[Thread], Tasks]:
        """The same, and the tasks of asyncio where a thread runs an event loop."""
        rows, tasks = await self._halting.interrupted(self.thread_list.with_tasks)
        return self._current_first(rows), tasks

    def _current_first(self, rows: list[Thread]) -> list[Thread]:
        current = self._loop.state.stop.thread.tid if self._loop.state.stop else None
        return sorted(rows, key=lambda thread: (thread.tid != current, thread.tid))

    async def tasks(self) -> Tasks:
        """The tasks of asyncio that are not done. A running target is halted for a moment.

        Raises TargetError where there is no interpreter yet, or it cannot be read.
        """
        return await self._halting.interrupted(self.thread_list.tasks)

    # -- stacks ---------------------------------------------------------------------------------

    async def stack(self, tid: int | None = None) -> Stack:
        """The merged stack of a thread of the stopped target, by default the one that stopped."""
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

    async def visible_frames(self, tid: int) -> tuple[Frame, ...]:
        """The frames that the user sees, the innermost first, while gdb holds the target."""
        return (await self._stack_of(tid)).visible()

    async def innermost(self, tid: int) -> Frame | None:
        """The innermost frame of all, while gdb holds the target."""
        frames = (await self._stack_of(tid)).frames
        return frames[0] if frames else None

    async def runs_python(self, tid: int) -> bool:
        """Whether the thread executes Python code right now, not native code that Python called.

        What the interpreter calls of the C library (an allocation, a copy) counts as Python code while the thread has
        the GIL. So does the wait for the GIL, which another thread has only for this moment.
        """
        stack = await self._stack_of(tid)
        visible = stack.visible()
        if not any(isinstance(frame, PythonFrame) for frame in visible):
            return False
        libraries = {frame.library or "" for frame in _native_top(visible)}
        if not all(map(is_system, libraries)):
            return False
        from ...snapshot.report.assemble import waits_for_gil  # not needed to start

        return not libraries or waits_for_gil(_native_top(stack.frames)) or bool(await self.attachment(tid))

    async def attachment(self, tid: int) -> Attachment:
        """Whether the thread may run Python code where it stands. gdb holds the target."""
        python = self.reader.python_thread(tid)
        return Attachment.WITHOUT_GIL if python is None else python.attachment

    async def gdb_thread(self, tid: int) -> int:
        """gdb's number of a thread. Raises CommandError when there is no such thread."""
        if tid not in self._gdb_threads:
            numbers = await self._native.ask(ListThreads())
            self._gdb_threads = {known: number for number, known in numbers.items()}
        if tid in self._gdb_threads:
            return self._gdb_threads[tid]
        raise NoSuchThread(f"there is no thread {tid}", "info threads lists them")

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
        """debugpy's frames, merged with the native ones from a short halt. Where no halt can be had, Python's alone."""
        named, chained = without_chained(await self._debugpy_frames(tid))
        stack = await self._merged_at_python_stop(tid, named)
        return replace(stack, frames=(*stack.frames, *assign_roles(list(chained), self.reader.rules)))

    async def _merged_at_python_stop(self, tid: int, named: list[PythonFrame]) -> Stack:
        try:
            stack: Stack = await self._halting.interrupted(lambda: self.stack_while_held(tid))
        except WrongState:
            raise
        except CommandError as error:
            return self._python_only(tid, named, error.message)
        if named and not any(isinstance(frame, PythonFrame) for frame in stack.frames):
            return self._python_only(tid, named, stack.note)  # memory could not be read, but debugpy knows
        frames = with_templates(with_engine_ids(stack.frames, named), named)
        if self._was_left(tid) and named and not any(is_frame(frame, named[0]) for frame in frames):
            return self._python_only(
                tid, named, "the exception has left these frames: they are its traceback's"
            )
        return replace(stack, frames=self.left_out.hidden(from_the_stop_on(frames, named), named))

    def _was_left(self, tid: int) -> bool:
        """Whether debugpy shows the traceback of an exception that has left all of the thread's own code."""
        holds = self._loop.state.python_holds.values()
        return any(hold.tid == tid and hold.event.cause is engine.PythonCause.EXCEPTION for hold in holds)

    def _python_only(self, tid: int, named: list[PythonFrame], note: str | None) -> Stack:
        return Stack(tid, tuple(assign_roles(list(named), self.reader.rules)), Quality.PYTHON_ONLY, note)

    async def _debugpy_frames(self, tid: int) -> list[PythonFrame]:
        number = self.debugpy_thread(tid)
        if number is None:
            return []
        trace = await self.ask(debugpy.stack_trace(number))
        return [debugpy_frame(row) for row in trace.frames]

    # -- log points -------------------------------------------------------------------------------

    async def write_log(self, text: str, gdb_thread: int, wrapped: Callable[[str], str] = str) -> None:
        """Print the text of a log point. Its expressions are evaluated in the thread's innermost frame.

        ``wrapped`` gives what is evaluated for an expression.
        """
        texts, expressions = split_log(text)
        written = await self._native.ask(FormatLogText(gdb_thread, texts, list(map(wrapped, expressions))))
        self._loop.tell(Output("log", f"{written}\n"))

    # -- variables and expressions ----------------------------------------------------------------

    def check_epoch(self, epoch: int) -> None:
        """Raises StaleHandle for a handle of an earlier stop."""
        if epoch != self._loop.state.epoch:
            raise StaleHandle("that belongs to an earlier stop", "look at the stack again")

    async def variables(self, tid: int, frame: Frame) -> list[Value]:
        """Arguments and locals of a frame of the stack of this stop."""
        return await self.values.variables(tid, frame)

    async def children(self, reference: int) -> list[Value]:
        """The children of a value. Raises StaleHandle for a reference of an earlier stop."""
        return await self.values.children(reference)

    async def evaluate(
        self, expression: str, tid: int, frame: Frame, language: Language, may_stop: bool = False
    ) -> Value:
        """Evaluate in a frame. Raises EvaluationError when it fails or would not be sound.

        ``may_stop``: breakpoints hold in native functions that it calls.
        """
        if language is Language.NATIVE:
            return await self.values.evaluate_native(expression, tid, frame, may_stop=may_stop)
        if self._loop.state.phase is not State.PYTHON_STOPPED:
            if not isinstance(frame, PythonFrame):
                raise EvaluationError(
                    "Python code cannot be run while gdb holds the target",
                    "up and down select a Python frame, whose variables are read from memory",
                )
            try:
                return await self.values.evaluate_memory(expression, tid, frame)
            except NeedsCode as error:
                stop = self._loop.state.stop
                # A crash has nothing to continue to.
                goes_on = stop is not None and stop.reason is not Reason.SIGNAL
                hint = f"{error.hint}; continue to a Python stop to evaluate" if goes_on else error.hint
                raise NeedsCode(error.message, hint) from None
        return await self.values.evaluate_python(expression, frame)

    async def represent(self, expression: str, frame: Frame) -> Value:
        """The value of a Python expression as the program's own ``__repr__`` writes it. Raises EvaluationError."""
        if self._loop.state.phase is not State.PYTHON_STOPPED:
            raise EvaluationError(
                "print reads memory while gdb holds the target, and runs no __repr__",
                "py repr(EXPRESSION) runs it, where that is sound",
            )
        return await self.values.represent_python(expression, frame)


def _native_top(frames: Sequence[Frame]) -> list[NativeFrame]:
    """The native frames above the innermost Python frame."""
    above: list[NativeFrame] = []
    for frame in frames:
        if not isinstance(frame, NativeFrame):
            break
        above.append(frame)
    return above


def _innermost_shown(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """A function of the interpreter in which gdb stopped is shown.

    A user who has set a breakpoint on it wants to see it.
    """
    first, *rest = frames or (None,)
    if not isinstance(first, NativeFrame) or first.role is not Role.PLUMBING:
        return frames
    return (replace(first, role=Role.USER), *rest)


def _ignore(answer: asyncio.Future[Any]) -> None:
    """Take the result of a request for which nobody waits any more."""
    if not answer.cancelled():
        answer.exception()
