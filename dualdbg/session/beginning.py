"""From two engines that were started to a program that runs: gdb attaches, breakpoints are set, Python connects.

With this module most of dualdbg is imported: :func:`~dualdbg.session.start.launch` does it when it has started both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from ..backends.debugpy import DebugpyEngine
from ..backends.gdb import GdbEngine
from ..errors import CommandError, EngineError, EngineTimeout, TargetError
from ..in_thread import in_thread
from ..model import State
from ..patience import patient
from ..symbols.cache import index_folder
from ..target.calls import MeetingPoint
from ..target.launcher import Meeting
from . import host_python
from .announcement import announce_start
from .assembly import asked_of_debugpy
from .options import Options
from .refusals import attach_refused, gdb_unusable
from .session import Session
from .transitions.beginning import begin, expect_entry

ATTACH_DELAY = 1.0  # seconds at most: one that hangs before its call can be paused then
CONNECT_DEADLINE = patient(60.0)  # seconds from the start of the interpreter until debugpy calls


async def start_gdb(
    session: Session,
    native: GdbEngine,
    ready: asyncio.Future[None],
    executable: str,
    options: Options,
    point: MeetingPoint | None,
) -> None:
    """Wait until gdb is ``ready``, and let it attach to the process. Raises EngineError or what the kernel refuses.

    An interpreter that is to call at ``point`` imports pydevd first. Native breakpoints are held back until it calls,
    and an attached gdb would stop it at each library that it loads for that: gdb waits for the call.
    """
    try:
        await ready
    except (EngineError, CommandError) as error:
        raise gdb_unusable(executable, error) from error
    if point is not None:
        waits: set[asyncio.Future[Any]] = {point.caller, point.failure}
        await asyncio.wait(waits, timeout=ATTACH_DELAY, return_when=asyncio.FIRST_COMPLETED)
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


async def run_natively(
    session: Session,
    native: GdbEngine,
    options: Options,
    configure: Callable[[Session], Awaitable[None]] | None,
    let_go: Callable[[], Awaitable[None]],
) -> None:
    """Let a program that is not Python run, once ``let_go`` has let it."""
    await _set_breakpoints(session, options)
    announce_start(session.loop, None, native.version)
    if configure is not None:
        await configure(session)
    session.new_program.begin()
    await let_go()
    await native.resume()


async def run_host(
    session: Session,
    native: GdbEngine,
    python: DebugpyEngine,
    meeting: Meeting,
    point: MeetingPoint,
    options: Options,
    configure: Callable[[Session], Awaitable[None]] | None,
) -> None:
    """Let a program run that may start an interpreter: that one's Python joins then."""
    session.breakpoints.python_comes_later()
    asked = asked_of_debugpy(options)
    replaced = asyncio.Event()
    session.new_program.at_end_of_program.append(replaced.set)
    joining = host_python.join(
        *(session.loop, python, session.breakpoints, asked, meeting),
        *(point.failure, native.version, point.caller, replaced),
    )
    session.background(joining)
    await run_natively(session, native, options, configure, partial(in_thread, session.target.let_go))


async def start_python(
    session: Session,
    native: GdbEngine,
    python: DebugpyEngine,
    meeting: Meeting,
    point: MeetingPoint,
    options: Options,
    configure: Callable[[Session], Awaitable[None]] | None,
) -> None:
    """Let the interpreter start, wait for its debugpy, and let the program run. Raises TargetError, EngineTimeout."""
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
