"""Launches a program and makes its session: starts both engines, and lets the program run to its first stop."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol

from ..backends.debugpy import DebugpyEngine
from ..backends.gdb import GdbEngine, GdbOptions
from ..backends.wirelog import WireLog
from ..errors import (
    CommandError,
    DualdbgError,
    EngineError,
    EngineTimeout,
    EngineUnusable,
    PermissionRefused,
    TargetError,
    UsageError,
)
from ..in_thread import in_thread
from ..model import Exit, State
from ..patience import patient
from ..process_end import end_of, has_ended
from ..resources import resource_directory
from ..symbols.cache import cache_directory, index_folder
from ..symbols.torch.operators import OperatorTable
from ..target.calls import MeetingPoint
from ..target.launcher import Launch, Meeting, spawn
from ..target.terminal import Terminal
from ..target.wrapped import WrappedTarget, program_of
from ..waiting import to_its_end
from . import host_python, preloads
from .announcement import announce_start
from .assembly import asked_of_debugpy, furnish, keep_log
from .engine_reports import EngineReports
from .options import Options
from .refusals import attach_refused, gdb_unusable
from .session import Session
from .transitions.beginning import begin, expect_entry
from .transitions.ending import exited

SHORT_GRACE = patient(0.5)  # seconds for a gdb that is given up
CONNECT_DEADLINE = patient(60.0)  # seconds from the start of the interpreter until debugpy calls
# Seconds from the first sign of the end of a process, which breaks what is under way, to its end.
END_GRACE = patient(3.0)
END_LOOK = 0.02  # seconds between two looks whether a process has ended
# Seconds for a process that has ended to be reported by its parent, once gdb has let go of it.
END_DEADLINE = patient(5.0)


class StartedTarget(Protocol):
    """A process that was started for the session."""

    @property
    def pid(self) -> int:
        """Its process id."""

    @property
    def left(self) -> int:
        """How many processes outlived this one and were ended by :meth:`kill`."""

    async def wait(self) -> Exit:
        """How it ended, when it has."""

    def kill(self) -> None:
        """End it, without waiting for that."""

    async def cleared(self) -> None:
        """Wait until everything has ended that :meth:`kill` ends."""

    def detach(self) -> None:
        """Let it live on when dualdbg ends."""


class StartTarget(Protocol):
    """Starts the process of a session; :func:`dualdbg.target.launcher.spawn` is the usual one."""

    async def __call__(
        self, launch: Launch, meeting: Meeting | None, *, terminal: Terminal | None = ...
    ) -> StartedTarget: ...


def find_gdb(chosen: str | None) -> str:
    """The gdb to use. Raises EngineError when there is none."""
    name = chosen or "gdb"
    found = shutil.which(name)
    if found is None:
        raise EngineError(
            f"there is no gdb: {name} was not found",
            "apt-get install gdb (or dnf install gdb), or name one with --gdb PATH",
        )
    return found


async def launch(
    what: Launch,
    options: Options,
    operators: OperatorTable | None,
    started: float | None = None,
    subscribe: Callable[[Session], None] | None = None,
    configure: Callable[[Session], Awaitable[None]] | None = None,
    start_target: StartTarget | None = None,
    let_go: Callable[[], Awaitable[None]] | None = None,
    user: int | None = None,
) -> Session:
    """Start a program with both engines in it, all breakpoints set, and let it run to its first stop.

    ``subscribe`` is called with the session before anything happens in it. ``configure`` is awaited when both engines
    are ready and before the first line of the program runs. ``start_target`` may start the process elsewhere, in a
    terminal that someone else owns. A program that is not Python waits before its main; ``let_go`` is awaited once
    gdb has it. Of a ``what.is_wrapped`` the target is the process that its wrapper starts. A ``what.native`` waits
    before its first instruction, and Python joins when it starts there. ``user`` is the user of the process, where that
    is another one. The interpreter and gdb start side by side.

    Raises TargetError or EngineError; whatever was started is ended then. When the process ends while it starts, that
    is the end of the session, as later: it is told, and the session is returned.
    """
    started = time.monotonic() if started is None else started
    gdb = find_gdb(options.gdb)
    reports = EngineReports()
    native = GdbEngine(
        GdbOptions(
            gdb,
            resource_directory("gdb_scripts"),
            WireLog(options.log_dir, "gdb", started),
            environment=await in_thread(preloads.for_gdb),
            arguments=options.gdb_arguments,
        ),
        reports.report,
        reports.congested,
    )
    python = DebugpyEngine(WireLog(options.log_dir, "debugpy", started), reports.report)
    point = MeetingPoint(python.serve)
    meeting = await point.open(user=user)
    gdb_ready = asyncio.ensure_future(native.start())
    session: Session | None = None
    try:
        start_target = start_target or partial(spawn, cache=cache_directory() / "pycache")
        target = await start_target(what, meeting, terminal=options.terminal)
        if what.is_wrapped:
            target = await program_of(target, what, point)
        session = Session(target.pid, native, python, started)
        reports.go_to(session)
        if isinstance(target, WrappedTarget):
            session.at_close.append(target.close)
        session.wait_for_exit = target.wait
        session.end_target = target.kill
        session.target = target
        keep_log(session, options)
        session.log(
            f"(the target's Python calls at {meeting.address}{point.why_a_port and ': '}{point.why_a_port})"
        )
        session.at_close.append(point.close)
        furnish(session, options, operators, what)
        if subscribe is not None:
            subscribe(session)
        options.tell(session)
        await _start_gdb(session, native, gdb_ready, options)
        if let_go is not None:
            await _run_natively(session, native, options, configure, let_go)
        elif what.native is not None:
            await _run_host(session, native, python, meeting, point, options, configure)
        else:
            await _start_python(session, native, python, meeting, point, options, configure)
    except BaseException as error:
        if session is not None and isinstance(error, DualdbgError) and await _ended(session, native, error):
            return session
        point.close()
        await to_its_end(_undo(native, python, gdb_ready, session))
        raise
    return session


async def _undo(
    native: GdbEngine, python: DebugpyEngine, gdb_ready: asyncio.Future[None], session: Session | None
) -> None:
    """The session could not be started, or is not wanted any more: whatever was started is ended."""
    gdb_ready.cancel()
    await asyncio.gather(gdb_ready, return_exceptions=True)
    if session is not None:
        session.target.kill()
    await native.close(grace=SHORT_GRACE)
    await python.close()
    if session is not None:
        await session.target.cleared()
        await session.end_tasks()


async def _ended(session: Session, native: GdbEngine, trouble: DualdbgError) -> bool:
    """Whether ``trouble`` with the start is that the process has ended; then the session is over, and its end told.

    Where gdb was lost, that has been told, and the process ends because of it. Where gdb was lost before the session
    took entries, one look is enough: it was gdb's end that broke the start.
    """
    if session.state is State.LOST:
        await session.ended.wait()
        return True
    if isinstance(trouble, (UsageError, PermissionRefused, EngineUnusable)):
        return False
    reported = asyncio.ensure_future(session.target.wait())
    try:
        end = time.monotonic() + END_GRACE
        while not (reported.done() or has_ended(session.pid)):
            if native.gone or time.monotonic() > end:
                return False
            await asyncio.sleep(END_LOOK)
        if not reported.done():
            await native.close(grace=SHORT_GRACE)  # it hears of the end first, and may not pass it on
            await asyncio.wait({reported}, timeout=END_DEADLINE)
        exit = reported.result() if reported.done() else end_of(session.pid) or Exit()
    finally:
        reported.cancel()
    session.log(f"it ended while it started: {trouble.message}")
    session.loop.open()
    session.loop.put(exited, exit)
    await session.ended.wait()
    return True


async def _start_gdb(
    session: Session, native: GdbEngine, gdb_ready: asyncio.Future[None], options: Options
) -> None:
    try:
        await gdb_ready
    except (EngineError, CommandError) as error:
        raise gdb_unusable(find_gdb(options.gdb), error) from error
    try:
        await native.attach(session.pid, index_folder())
    except (EngineError, CommandError) as error:
        raise attach_refused(session.pid, error, launched=True) from error
    await native.stop_at_program_changes()
    await native.set_up(options.source_maps, options.gdb_commands)


async def _set_breakpoints(session: Session, options: Options) -> None:
    await session.breakpoints.libraries_changed()
    for text in options.breakpoints:
        await session.breakpoints.add(text)
    if options.before_run is not None:
        await options.before_run(session)
    session.run()
    await session.loop.ask(begin)


async def _run_natively(
    session: Session,
    native: GdbEngine,
    options: Options,
    configure: Callable[[Session], Awaitable[None]] | None,
    let_go: Callable[[], Awaitable[None]],
) -> None:
    await _set_breakpoints(session, options)
    announce_start(session.loop, None, native.version)
    if configure is not None:
        await configure(session)
    session.new_program.begin()
    await let_go()
    await native.resume()


async def _run_host(
    session: Session,
    native: GdbEngine,
    python: DebugpyEngine,
    meeting: Meeting,
    point: MeetingPoint,
    options: Options,
    configure: Callable[[Session], Awaitable[None]] | None,
) -> None:
    session.breakpoints.python_comes_later()
    asked = asked_of_debugpy(options)
    replaced = asyncio.Event()
    session.new_program.at_end_of_program.append(replaced.set)
    joining = host_python.join(
        *(session.loop, python, session.breakpoints, asked, meeting),
        *(point.failure, native.version, point.caller, replaced),
    )
    session.background(joining)
    await _run_natively(session, native, options, configure, partial(in_thread, session.target.let_go))


async def _start_python(
    session: Session,
    native: GdbEngine,
    python: DebugpyEngine,
    meeting: Meeting,
    point: MeetingPoint,
    options: Options,
    configure: Callable[[Session], Awaitable[None]] | None,
) -> None:
    session.breakpoints.hold_back()
    await _set_breakpoints(session, options)
    await native.resume()
    await _connect(session, python, meeting, point, options)
    session.new_program.begin()
    announce_start(session.loop, python.python_version, native.version)
    await session.breakpoints.python_connected()
    if configure is not None:
        await configure(session)
    session.inspector.thread_list.program_begins()
    await session.breakpoints.release()
    if options.stop_on_entry:
        await session.loop.ask(expect_entry)
    await python.configuration_done()


async def _connect(
    session: Session,
    python: DebugpyEngine,
    meeting: Meeting,
    point: MeetingPoint,
    options: Options,
) -> None:
    waits: set[asyncio.Future[Any]] = {
        asyncio.ensure_future(asyncio.shield(point.caller)),
        asyncio.ensure_future(session.ended.wait()),
        asyncio.ensure_future(asyncio.shield(point.failure)),
    }
    try:
        while not (await asyncio.wait(waits, timeout=CONNECT_DEADLINE, return_when=asyncio.FIRST_COMPLETED))[
            0
        ]:
            if session.state is not State.NATIVE_STOPPED:  # a user who paused it may take their time
                raise EngineTimeout(f"debugpy did not start in the target within {CONNECT_DEADLINE:g} s")
    finally:
        for wait in waits:
            wait.cancel()
    if point.failure.done():
        why = point.failure.result()
        session.log(why)
        raise TargetError(f"debugpy cannot be started in it: {why.splitlines()[-1]}")
    if not python.connected:
        raise TargetError("the interpreter ended before the program began")
    await python.initialize(asked_of_debugpy(options), meeting.session_token, meeting.target_token)
