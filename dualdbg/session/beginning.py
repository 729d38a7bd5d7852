"""From two engines that were started to a program that runs: gdb attaches, breakpoints are set, Python connects.

With this module most of dualdbg is imported: :func:`~dualdbg.session.start.launch` does it when it has started both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..backends.debugpy import DebugpyEngine
from ..backends.gdb import GdbEngine
from ..errors import CommandError, EngineError, EngineTimeout, TargetError
from ..model import Notice, State
from ..symbols.cache import index_folder
from ..symbols.gdb_feed.unpacked_debug_info import debug_folder
from ..system.in_thread import in_thread
from ..system.patience import patient
from ..target.calls import MeetingPoint
from ..target.launcher import Meeting
from . import host_python
from .announcement import announce_start
from .as_launched import keeps_python_out
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
        await native.attach(session.pid, index_folder(), debug_files=await in_thread(debug_folder))
    except (EngineError, CommandError) as error:
        raise attach_refused(session.pid, error, launched=True) from error
    await native.stop_at_program_changes()
    await native.set_up(options.source_maps, options.gdb_commands)


@dataclass(frozen=True)
class Beginning:
    """What is started, and as the caller has asked. ``configure`` is awaited before the program's first line."""

    session: Session
    native: GdbEngine
    python: DebugpyEngine
    meeting: Meeting
    point: MeetingPoint
    options: Options
    configure: Callable[[Session], Awaitable[None]] | None

    async def run_natively(self, let_go: Callable[[], Awaitable[None]], notice: Notice | None = None) -> None:
        """Let a program that is not Python run, once ``let_go`` has let it. ``notice`` is told before."""
        session = self.session
        await self._set_breakpoints()
        announce_start(session.loop, None, self.native.version)
        if notice is not None:
            session.loop.tell(notice)
        await self._configure()
        session.new_program.begin()
        await let_go()
        await self.native.resume()

    async def run_host(self) -> None:
        """Let a program run that may start an interpreter: that one's Python joins then."""
        session, point = self.session, self.point
        let_go = partial(in_thread, session.target.let_go)
        kept_out = keeps_python_out(session.pid)
        if kept_out is not None:
            session.breakpoints.python_impossible(kept_out[0])
            await self.run_natively(let_go, Notice("warning", *kept_out))
            return
        session.breakpoints.python_comes_later()
        replaced = asyncio.Event()
        session.new_program.at_end_of_program.append(replaced.set)
        joining = host_python.join(
            *(session.loop, self.python, session.breakpoints, asked_of_debugpy(self.options), self.meeting),
            *(point.failure, self.native.version, point.caller, replaced),
        )
        session.background(joining)
        await self.run_natively(let_go)

    async def start_python(self) -> None:
        """Let the interpreter start, wait for its debugpy, let the program run. Raises TargetError, EngineTimeout."""
        session = self.session
        session.breakpoints.hold_back()
        await self._set_breakpoints()
        await self.native.resume()
        await self._connect()
        session.new_program.begin()
        announce_start(session.loop, self.python.python_version, self.native.version)
        await session.breakpoints.python_connected()
        await self._configure()
        session.inspector.thread_list.program_begins()
        await session.breakpoints.release()
        if self.options.stop_on_entry:
            await session.loop.ask(expect_entry)
        await self.python.configuration_done()

    async def _set_breakpoints(self) -> None:
        session, options = self.session, self.options
        await session.breakpoints.libraries_changed()
        for text in options.breakpoints:
            await session.breakpoints.add(text)
        if options.before_run is not None:
            await options.before_run(session)
        session.run()
        await session.loop.ask(begin)

    async def _configure(self) -> None:
        if self.configure is not None:
            await self.configure(self.session)

    async def _connect(self) -> None:
        session, point = self.session, self.point
        waits: set[asyncio.Future[Any]] = {
            asyncio.ensure_future(asyncio.shield(point.caller)),
            asyncio.ensure_future(session.ended.wait()),
            asyncio.ensure_future(asyncio.shield(point.failure)),
        }
        try:
            while not (
                await asyncio.wait(waits, timeout=CONNECT_DEADLINE, return_when=asyncio.FIRST_COMPLETED)
            )[0]:
                if session.state is not State.NATIVE_STOPPED:  # a user who paused it may take their time
                    raise EngineTimeout(f"debugpy did not start in the target within {CONNECT_DEADLINE:g} s")
        finally:
            for wait in waits:
                wait.cancel()
        if point.failure.done():
            why = point.failure.result()
            session.log(why)
            raise TargetError(f"debugpy cannot be started in it: {why.splitlines()[-1]}")
        if not self.python.connected:
            raise TargetError("the interpreter ended before the program began")
        asked, meeting = asked_of_debugpy(self.options), self.meeting
        await self.python.initialize(asked, meeting.session_token, meeting.target_token)
