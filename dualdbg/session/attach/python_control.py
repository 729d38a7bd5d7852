"""Brings Python control into a process that was attached to, as soon as its interpreter can run Python code."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Protocol

from ...backends.debugpy import DebugpyEngine, DebugpyOptions
from ...backends.gdb import GdbEngine
from ...errors import CommandError, DualdbgError, EngineError, TargetError
from ...known.python_files import why_no_python
from ...model import Notice
from ...shared.requests.process import RunPython
from ...shared.requests.threads import ListThreads, WriteMemory
from ...snapshot.capture import Captured, Wanted, capture
from ...snapshot.facts import ProcessReport, ThreadReport
from ...snapshot.report.assemble import Assembler
from ...snapshot.report.telling_frame import where
from ...system.in_thread import in_thread
from ...system.patience import patient
from ...target.calls import MeetingPoint
from ...target.launcher import BOOTSTRAP, Meeting, check_view, debugpy_package
from ..announcement import announce_start
from ..breakpoints.table import BreakpointTable
from ..halts import Halts
from ..inspect.held import held_by_gdb
from ..loop import Loop
from ..ports import HeldThreads
from ..transitions.beginning import keep_held, run_for_a_moment
from .injection import Injection, address_of, interpreter_module, prepare, queue_writes, takers_of
from .pending_call import QueueBusy, Write
from .safe_waits import is_native, sleeping_safely

_ANSWER_DEADLINE = patient(24 * 3600.0)  # gdb may hold the target for as long as the user likes
_TRIES = 20
_LAST_WORDS = patient(5.0)  # seconds for a thread of pydevd to end in the target
# Seconds; a thread that runs Python may enter a long native call with the GIL first.
_CALL_DEADLINE = patient(60.0)
_COMES = patient(10.0)  # seconds; nothing is missing but that the process runs
_MAY_COME = patient(1.0)  # seconds; it waits for what may be over any moment, as native code that computes


@dataclass(frozen=True)
class ControlOptions:
    """What debugpy is told, and where compiled copies of its files are kept."""

    just_my_code: bool = True
    cache: str | None = None
    debugpy: dict[str, Any] | None = None


class ListedThreads(Protocol):
    """Knows which threads are the debugger's own."""

    def began_at_attach(self, tids: set[int]) -> None:
        """These threads have begun while a thread ran the text that starts ours."""
        ...


class PythonControl:
    """Leads one session from native debugging alone to both languages."""

    def __init__(
        self,
        loop: Loop,
        native: GdbEngine,
        python: DebugpyEngine,
        breakpoints: BreakpointTable,
        threads: HeldThreads,
        listed: ListedThreads,
        halts: Halts,
        options: ControlOptions,
    ) -> None:
        self._loop = loop
        self._native = native
        self._python = python
        self._breakpoints = breakpoints
        self._threads = threads
        self._listed = listed
        self._halts = halts
        self._options = options
        self._point = MeetingPoint(python.serve)
        self._meeting: Meeting
        self._injection: Injection | None = None
        self._replaced = asyncio.Event()
        self.available = False
        self.worth_waiting = 0.0  # seconds, for it to come while the process runs
        self.settled = asyncio.Event()  # it is there, or will not come

    async def begin(self) -> None:
        """Prepare everything while gdb holds the target, and tell the user what is still missing."""
        self._breakpoints.python_comes_later()
        try:
            await self._begin()
        except DualdbgError as error:
            self._impossible(error.message)
            self._say("warning", f"Python control is not possible: {error.message}", error.hint)

    def _impossible(self, why: str) -> None:
        """Breakpoints that wait for Python control, and those that are still to come, are told."""
        self._breakpoints.python_impossible(f"Python control is not possible: {why}")
        self.settled.set()

    async def _begin(self) -> None:
        captured, report = await self._look()
        if captured.interpreter is None:
            why = why_no_python(module.path for module in captured.modules)
            self._impossible(why)
            self._say("warning", f"{why}: native debugging only")
            return
        if captured.python is None:
            raise TargetError(captured.python_trouble or "its interpreter cannot be read")
        if captured.python.finalizing or not captured.python.main:
            raise TargetError("its interpreter runs no Python code any more, or does not do so yet")
        check_view(self._loop.state.pid)
        self._meeting = await self._point.open(pid=self._loop.state.pid, user=captured.facts.owner)
        if self._point.why_a_port:
            self._say("info", "the process calls by a port of loopback", self._point.why_a_port)
        self._injection = prepare(captured, self._settings())
        self._loop.background(self._complete())
        sleeper = sleeping_safely(report, captured)
        if sleeper is not None:
            await self._call(captured, sleeper)
            waits_for = None
        else:
            await self._queue(captured, report)
            waits_for = awaited(report, captured)
        if waits_for is None:
            self.worth_waiting = _COMES
            self._say("info", "Python breakpoints work once the program runs on")
        else:
            self.worth_waiting = _MAY_COME if waits_for.may_end else 0.0
            self._say("info", f"Python control is not there yet: {waits_for.why}")

    async def _look(self) -> tuple[Captured, ProcessReport]:
        """The process as it stands: registers from gdb, the rest from memory."""
        held = await held_by_gdb(self._native, self._breakpoints.image)

        def read() -> tuple[Captured, ProcessReport]:
            captured = capture(self._loop.state.pid, wanted=Wanted(names=False), held=held)
            return captured, Assembler(captured).report()

        return await in_thread(read)

    def _settings(self) -> dict[str, Any]:
        return {
            "address": self._meeting.address,
            "session_token": self._meeting.session_token,
            "target_token": self._meeting.target_token,
            "debugpy": str(debugpy_package()),
            "made_of": _made_of(),
            "bootstrap": str(BOOTSTRAP),
            "pycache": self._options.cache,
            "follow_children": False,
            "last_words": _LAST_WORDS,
        }

    # -- the two ways --------------------------------------------------------------------------------

    async def _queue(self, captured: Captured, report: ProcessReport) -> None:
        """Put the text into the interpreter's queue.

        Where a thread is using the queue, the target runs for a moment first.
        """
        assert self._injection is not None
        for _ in range(_TRIES):
            try:
                writes = queue_writes(captured, report, self._injection)
            except QueueBusy:
                await self._run_for_a_moment()
                captured, report = await self._look()
                continue
            await self._write(writes)
            return
        raise TargetError("the interpreter's queue of calls was in use at every try")

    async def _run_for_a_moment(self) -> None:
        """A thread is using the interpreter's queue: let it finish."""
        hold = self._loop.state.native
        await self._loop.ask(run_for_a_moment)
        await asyncio.sleep(0.01)
        halt = await self._halts.begin(_CALL_DEADLINE)
        await self._loop.ask(keep_held, halt, hold)

    async def _call(self, captured: Captured, sleeper: ThreadReport) -> None:
        """Have gdb run the text in a thread that sleeps where the interpreter itself runs Python code when woken."""
        assert self._injection is not None
        native, module = self._native, interpreter_module(captured)
        number = await self._threads.gdb_thread(sleeper.thread.tid)
        await self._write(self._injection.writes)
        ensure = address_of(module, "PyGILState_Ensure")
        run = address_of(module, "PyRun_SimpleString")
        release = address_of(module, "PyGILState_Release")
        words = (number, ensure, run, release, self._injection.text_address)
        before = set((await native.ask(ListThreads())).values())
        await native.ask(RunPython(*words), _CALL_DEADLINE)
        self._listed.began_at_attach(set((await native.ask(ListThreads())).values()) - before)
        await self._write(self._injection.put_back)
        self._injection.writes = []

    async def _write(self, writes: list[Write]) -> None:
        for write in writes:
            await self._native.ask(WriteMemory(write.address, write.data))

    async def undo(self) -> None:
        """What is still in the interpreter's queue does nothing any more. gdb holds the target."""
        injection = self._injection
        if injection is None or self._replaced.is_set():
            return
        if injection.request is not None and not self.available:
            await self._withdraw(injection, injection.request)
        elif injection.request is None and injection.writes:
            await self._write(injection.put_back if self.available else injection.emptied)
        self.close()

    async def _withdraw(self, injection: Injection, request: int) -> None:
        """Take back the request to a thread, if that thread is still there and nobody has made another."""
        captured, _ = await self._look()
        remote = captured.python.layout.remote if captured.python is not None else None
        if captured.python is None or remote is None:
            return
        for state in captured.python.threads:
            ours = captured.memory.text(state.address + remote.script_path, remote.script_path_size)
            if state.address + remote.pending_call == request and ours == injection.script:
                await self._write([Write(request, bytes(4))])

    def program_replaced(self) -> None:
        """The process runs another program: nothing of what was brought into the earlier one is there any more."""
        self._replaced.set()
        self.close()

    def close(self) -> None:
        """Remove the files. Nobody can call any more."""
        self._point.close()
        if self._injection is not None:
            self._injection.remove_files()

    # -- when it has run -------------------------------------------------------------------------------

    async def _complete(self) -> None:
        """Wait for the code in the target to call, and make it the session's Python engine."""
        ended: asyncio.Future[Any] = asyncio.ensure_future(self._loop.ended.wait())
        connected: asyncio.Future[Any] = self._point.caller
        replaced: asyncio.Future[Any] = asyncio.ensure_future(self._replaced.wait())
        failure = self._point.failure
        try:
            waits = {ended, connected, replaced, failure}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if replaced.done():
                return
            if failure.done():
                if self._loop.log is not None:
                    self._loop.log(failure.result())
                reason = failure.result().splitlines()[-1].removeprefix("RuntimeError: ")
                self._impossible(reason)
                raise CommandError(f"Python control is not possible: {reason}", "native debugging goes on")
            if connected.done():
                await self._connect()
        except EngineError:
            if not self._replaced.is_set():  # else it was the earlier program's
                raise
        finally:
            ended.cancel()
            replaced.cancel()
            self.close()

    async def _connect(self) -> None:
        python = self._python
        options = DebugpyOptions(
            launched=False,
            just_my_code=self._options.just_my_code,
            hidden_files=(str(BOOTSTRAP),),
            extra=dict(self._options.debugpy or {}),
        )
        await python.initialize(
            options, self._meeting.session_token, self._meeting.target_token, _ANSWER_DEADLINE
        )
        await self._breakpoints.python_connected(tell=False)
        await python.configuration_done(_ANSWER_DEADLINE)  # answered when the program's threads are traced
        self._breakpoints.tell_python()
        self.available = True
        self.settled.set()
        announce_start(self._loop, python.python_version, self._native.version)
        self._say(
            "info", "Python control is there: Python breakpoints, steps and evaluation work from now on"
        )

    def _say(self, level: str, message: str, hint: str = "") -> None:
        self._loop.tell(Notice(level, message, hint))


def _made_of() -> str:
    """Tells whether two installations bring the same code into a program: the version of debugpy, and all of ours."""
    files = [*sorted(BOOTSTRAP.rglob("*.py")), BOOTSTRAP.parents[1] / "shared/object_text.py"]
    digest = hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()
    return f"{version('debugpy')} {digest[:16]}"


@dataclass(frozen=True)
class Awaited:
    """What the interpreter waits for, in words, and whether that may be over any moment."""

    why: str
    may_end: bool


def awaited(report: ProcessReport, captured: Captured) -> Awaited | None:
    """What the interpreter waits for before it runs what is queued; None for nothing but that the target runs."""
    assert captured.python is not None
    holder = next((thread for thread in report.threads if thread.thread.holds_gil), None)
    if holder is not None and is_native(holder):
        why = (
            f"thread {holder.thread.tid} holds the GIL in native code, in {where(holder)}; it comes by itself when "
            "that thread returns to Python"
        )
        return Awaited(why, holder.system_call is None)
    takers = takers_of(report, captured)
    if not takers:
        return Awaited("no thread runs the main interpreter's code; it comes by itself when one does", False)
    if not all(is_native(taker) or _is_asleep(taker) for taker in takers):
        return None
    who, when = "the main thread is", "it returns"
    if len(takers) > 1:
        who, when = "all threads of Python are", "one of them returns"
    elif takers[0].thread.tid != report.pid:
        who = f"thread {takers[0].thread.tid} is"
    what = "in native code" if is_native(takers[0]) else "asleep"
    why = f"{who} {what}, in {where(takers[0])}; it comes by itself when {when} to Python"
    return Awaited(why, any(taker.system_call is None or not is_native(taker) for taker in takers))


def _is_asleep(thread: ThreadReport) -> bool:
    """Whether the thread is in a system call, perhaps for a moment, and does not wait for the GIL there."""
    it = thread.thread
    return thread.system_call is not None and not it.waits_for_gil and not it.holds_gil
