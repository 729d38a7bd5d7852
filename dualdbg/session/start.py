"""Launches a program and makes its session: starts both engines, and lets the program run to its first stop."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ..backends.debugpy import DebugpyEngine
from ..backends.gdb import GdbEngine, GdbOptions
from ..backends.wirelog import WireLog
from ..errors import DualdbgError, EngineError, EngineUnusable, PermissionRefused, UsageError
from ..model import Exit, State
from ..symbols.cache import cache_directory
from ..system.in_thread import in_thread
from ..system.patience import patient
from ..system.process_end import end_of, has_ended
from ..system.resources import resource_directory
from ..system.waiting import to_its_end
from ..target.calls import MeetingPoint
from ..target.launcher import Launch, Meeting, spawn
from ..target.terminal import Terminal
from ..target.wrapped import WrappedTarget, program_of
from . import preloads
from .engine_reports import EngineReports
from .options import Options

if TYPE_CHECKING:  # most of dualdbg, which :func:`launch` imports when it has something to wait for
    from ..symbols.torch.operators import OperatorTable
    from .session import Session

SHORT_GRACE = patient(0.5)  # seconds for a gdb that is given up
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
    def left(self) -> Sequence[str]:
        """What outlived this one and was ended, ``PID NAME`` each."""

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
    target: StartedTarget | None = None
    session: Session | None = None
    try:
        start_target = start_target or partial(spawn, cache=cache_directory() / "pycache")
        target = await start_target(what, meeting, terminal=options.terminal)
        if what.is_wrapped:
            target = await program_of(target, what, point)
        # gdb and the interpreter take a tenth of a second for their own imports: ours are done meanwhile.
        from . import assembly, beginning
        from .session import Session

        session = Session(target.pid, native, python, started)
        reports.go_to(session)
        if isinstance(target, WrappedTarget):
            session.at_close.append(target.close)
        session.wait_for_exit = target.wait
        session.end_target = target.kill
        session.target = target
        assembly.keep_log(session, options)
        session.log(
            f"(the target's Python calls at {meeting.address}{point.why_a_port and ': '}{point.why_a_port})"
        )
        session.at_close.append(point.close)
        assembly.furnish(session, python, options, operators, what)
        if subscribe is not None:
            subscribe(session)
        options.tell(session)
        calls = point if let_go is None and what.native is None else None
        await beginning.start_gdb(session, native, gdb_ready, gdb, options, calls)
        program = beginning.Beginning(session, native, python, meeting, point, options, configure)
        if let_go is not None:
            await program.run_natively(let_go)
        elif what.native is not None:
            await program.run_host()
        else:
            await program.start_python()
    except BaseException as error:
        if session is not None and isinstance(error, DualdbgError) and await _ended(session, native, error):
            return session
        point.close()
        await to_its_end(_undo(native, python, gdb_ready, target, session))
        raise
    return session


async def _undo(
    native: GdbEngine,
    python: DebugpyEngine,
    gdb_ready: asyncio.Future[None],
    target: StartedTarget | None,
    session: Session | None,
) -> None:
    """The session could not be started, or is not wanted any more: whatever was started is ended."""
    gdb_ready.cancel()
    await asyncio.gather(gdb_ready, return_exceptions=True)
    if target is not None:
        target.kill()
    await native.close(grace=SHORT_GRACE)
    await python.close()
    if target is not None:
        await target.cleared()
    if session is not None:
        await session.end_tasks()


async def _ended(session: Session, native: GdbEngine, trouble: DualdbgError) -> bool:
    """Whether ``trouble`` with the start is that the process has ended; then the session is over, and its end told.

    Where gdb was lost, that has been told, and the process ends because of it. Where gdb was lost before the session
    took entries, one look is enough: it was gdb's end that broke the start.
    """
    from .transitions.ending import exited

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
