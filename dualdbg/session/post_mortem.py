"""A session on a core file: everything can be looked at, and nothing runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ..backends.debugpy import DebugpyEngine
from ..backends.events import EngineEnded, EngineEvent, NativeStopped, StopCause
from ..backends.gdb import GdbEngine, GdbOptions
from ..backends.wirelog import WireLog
from ..errors import CommandError, EngineError, TargetError, WrongState
from ..model import Breakpoint, BreakpointSpec, Notice, Reason, Tasks, Thread
from ..shared.requests.threads import ListThreads
from ..snapshot.capture import Captured, Wanted
from ..snapshot.core_file import capture_core
from ..snapshot.cpython.held_process import PythonSide, PythonThread
from ..snapshot.cpython.object_text import ObjectText
from ..snapshot.cpython.reader import PythonReader
from ..snapshot.cpython.tasks import read_tasks
from ..stacks.debugger_threads import is_debuggers
from ..stacks.roles import first_of_user
from ..symbols.address_space import AddressSpace, Module
from ..system.folders import here
from ..system.in_thread import in_thread
from ..system.resources import resource_directory
from ..system.waiting import to_its_end
from ..target.launcher import Launch
from .announcement import announce_start
from .assembly import Makers, furnish, keep_log
from .breakpoints.table import BreakpointTable, WatchedFrame
from .engine_reports import EngineReports
from .engines import NativeEngine
from .inspect.inspector import Inspector
from .inspect.thread_list import NamedThreads, ThreadList
from .loop import Loop
from .options import Options
from .refusals import gdb_unusable
from .session import Session
from .start import SHORT_GRACE, find_gdb
from .stops.facts import NativeHold, Picture
from .transitions.beginning import attach_ready, attached, tell_attached
from .transitions.ending import post_mortem_over


async def open_core(
    path: str,
    options: Options,
    program: str | None = None,
    started: float | None = None,
    subscribe: Callable[[Session], None] | None = None,
) -> Session:
    """A session on the core file ``path``, stopped for good where the process ended.

    ``program`` is the file of the program, where it has moved since. ``subscribe`` is called with the session before
    anything happens in it. Raises TargetError, SymbolError or EngineError.
    """
    started = time.monotonic() if started is None else started
    gdb = find_gdb(options.gdb)
    captured, notes = await in_thread(capture_core, path, Wanted(), program)
    reports = EngineReports()
    native = GdbEngine(
        GdbOptions(
            gdb,
            resource_directory("gdb_scripts"),
            WireLog(options.log_dir, "gdb", started),
            arguments=options.gdb_arguments,
        ),
        reports.report,
        reports.congested,
    )
    python = DebugpyEngine(WireLog(options.log_dir, "debugpy", started), reports.report)
    session = CoreSession(captured.facts.pid, native, python, started)
    session.last_words = captured.last_words
    reports.go_to(session)
    keep_log(session, options)
    options = replace(options, table=_NoBreakpoints)
    make = Makers(image=lambda pid: _CoreImage(captured), inspector=partial(_CoreInspector, captured))
    furnish(session, python, options, None, Launch(python=program or ""), make)
    session.inspector.reader.python_side = _PythonInCore(session.breakpoints.image, captured)
    if subscribe is not None:
        subscribe(session)
    options.tell(session)
    try:
        try:
            await native.start()
        except (EngineError, CommandError) as error:
            raise gdb_unusable(gdb, error) from error
        await native.set_up(options.source_maps, options.gdb_commands)
        file = (program or captured.modules[0].path) if captured.modules else None
        await native.open_core(here() / path, file)
        session.run()
        announce_start(session.loop, _version(captured), native.version)
        for note in notes:
            session.emit(Notice("info", note))
        await _show(session, captured, notes[0])
    except BaseException:
        await to_its_end(native.close(grace=SHORT_GRACE))
        raise
    return session


_NO_LIFE = "a core file is what is left of a process: it cannot run"


async def _show(session: CoreSession, captured: Captured, how: str) -> None:
    """The only stop of a core is the place where the process ended."""
    tid = captured.threads[0].tid
    number = next(
        (one for one, known in (await session.native.ask(ListThreads())).items() if known == tid), 1
    )
    hold = NativeHold(NativeStopped(StopCause.UNSAID, tid, number), tid, number)
    await session.loop.ask(attached, hold)
    visible = await session.inspector.visible_frames(tid)
    first = first_of_user(visible)
    frame = visible[first] if visible else None
    picture = Picture(await session.inspector.thread(tid), frame, number=first)
    await session.loop.ask(attach_ready, picture, Reason.SIGNAL, how)
    await session.loop.ask(tell_attached, session.epoch)


def _version(captured: Captured) -> str | None:
    return ".".join(map(str, captured.python.layout.version)) if captured.python is not None else None


class CoreSession(Session):
    """Refuses all commands that would let the process run."""

    last_words: str | None = None  # what the C library has said of the reason, where it has ended the program

    def report(self, event: EngineEvent) -> None:
        """Take gdb's end; its other reports are about a process that runs."""
        if isinstance(event, EngineEnded):  # gdb's other reports are about a process that runs
            super().report(event)

    async def resume(self) -> None:
        """Raises WrongState: a core has no process that could run."""
        raise WrongState(_NO_LIFE, "look at frames, threads, values and memory")

    async def step(self, *arguments: Any, **named: Any) -> None:
        """Raises WrongState, as :meth:`resume`."""
        await self.resume()

    async def pause(self) -> None:
        """Raises WrongState, as :meth:`resume`."""
        await self.resume()

    async def kill(self, also_attached: bool = False) -> None:
        """Raises WrongState, as :meth:`resume`."""
        await self.resume()

    async def detach(self) -> None:
        """Raises WrongState: there is no process to detach from."""
        raise WrongState("there is no process to detach from", "type quit")

    async def close(self) -> None:
        """End the session; its state is DETACHED then."""
        if self.loop.is_open:
            await self.loop.ask(post_mortem_over)
        await super().close()


class _NoBreakpoints(BreakpointTable):
    async def add_spec(
        self, spec: BreakpointSpec, frame: WatchedFrame | None = None, optional: bool = False
    ) -> Breakpoint:
        raise WrongState(_NO_LIFE, "a breakpoint needs a process: dualdbg run, dualdbg attach")


class _CoreImage(AddressSpace):
    """The files that were mapped."""

    def __init__(self, captured: Captured) -> None:
        super().__init__(captured.facts.pid)
        self._modules = {(module.path, module.start): module for module in captured.modules}
        self.is_code = captured.is_code  # type: ignore[method-assign]

    def refresh(self) -> list[Module]:
        return []


class _CoreInspector(Inspector):
    """Takes names of threads from the core. A process that has this number now is another one."""

    def __init__(self, captured: Captured, loop: Loop, native: NativeEngine, *parts: Any) -> None:
        super().__init__(loop, native, *parts)
        self._names = {thread.tid: thread.name for thread in captured.threads}
        self.thread_list = _CoreThreads(captured, loop, native, self)

    def thread_name(self, tid: int) -> str:
        return self._names.get(tid, "?")


class _CoreThreads(ThreadList):
    def __init__(self, captured: Captured, loop: Loop, native: NativeEngine, threads: NamedThreads) -> None:
        super().__init__(loop, native, threads)
        self._captured = captured
        self._names = dict(captured.names)

    async def all(self) -> list[Thread]:
        holders = self._captured.python.gil_holders if self._captured.python is not None else set()
        states = self._captured.states
        return [
            Thread(
                one.tid,
                one.name,
                self._names.get(one.tid),
                states[one.tid].is_among(holders) if one.tid in states else None,
            )
            for one in self._captured.threads
            if not is_debuggers(self._names.get(one.tid), states[one.tid].frames if one.tid in states else ())
        ]

    def _numbers(self) -> set[int]:
        return {one.tid for one in self._captured.threads}


class _PythonInCore(PythonSide):
    """The interpreter of the core."""

    def __init__(self, image: AddressSpace, captured: Captured) -> None:
        super().__init__(image)
        self._captured = captured

    def threads(self) -> list[PythonThread]:
        captured = self._captured
        holders = captured.python.gil_holders if captured.python is not None else set()
        return [PythonThread.of(tid, state, holders) for tid, state in captured.states.items()]

    def thread(self, tid: int) -> PythonThread | None:
        return next((one for one in self.threads() if one.tid == tid), None)

    def names(self) -> dict[int, str]:
        return dict(self._captured.names)

    def tasks(self) -> Tasks:
        captured = self._captured
        reader, texts = self._readers()
        if captured.python is None:
            raise TargetError(captured.python_trouble or "the Python interpreter cannot be read")
        return read_tasks(reader, texts, captured.python, captured.states, captured.modules)

    def _readers(self) -> tuple[PythonReader, ObjectText]:
        captured = self._captured
        if captured.interpreter is None:
            raise TargetError("there is no Python interpreter in this core")
        assert captured.mapping is not None  # a core has one
        texts = ObjectText(captured.memory, captured.mapping, with_values=False)
        return PythonReader(captured.memory, captured.interpreter), texts
