"""The debug sessions of a server: by id, several at once, and ended where nobody asks for them any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...config import Asked, Config, configuration
from ...errors import CommandError
from ...model import State
from ...session.configured import session_options
from ...session.options import Options
from ...session.post_mortem import CoreSession
from ...snapshot.capture import Held
from ...system.waiting import to_its_end
from .debuggee import Debuggee, Start
from .permissions import Permissions

MOST = 16  # sessions at once: each is a gdb and, for most, a program
_MOST_GONE = 100  # sessions that have ended whose end is still told


@dataclass(frozen=True)
class Settings:
    """What the server's command line says of all its sessions. ``idle``: seconds without a question until one ends."""

    permissions: Permissions = field(default_factory=Permissions)
    asked: Asked = field(default_factory=Asked)
    config: str | None = None
    idle: float = 1800.0


class Sessions:
    """Shared by all clients of a server."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._config: Config | None = None
        self._open: dict[str, Debuggee] = {}
        self._gone: dict[str, str] = {}  # by id: why a session is no more
        self._busy: dict[str, int] = {}  # calls under way
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._last = 0

    @property
    def permissions(self) -> Permissions:
        """What may be done."""
        return self.settings.permissions

    def new_id(self) -> str:
        """The id of the next session. Raises CommandError where there are too many already."""
        if len(self._open) >= MOST:
            raise CommandError(
                f"{MOST} sessions are open already: {', '.join(self._open)}",
                "end(session=…) ends one of them",
            )
        self._last += 1
        return f"s{self._last}"

    def options(self, id: str, asked: Asked) -> Options:
        """The options of a session: of the configuration, of the server's command line, and of one call."""
        if self._config is None:
            self._config = configuration(self.settings.config)
        server = self.settings.asked
        chosen = replace(
            server,
            breakpoints=(*server.breakpoints, *asked.breakpoints),
            just_my_code=asked.just_my_code if asked.just_my_code is not None else server.just_my_code,
            stop_on_entry=asked.stop_on_entry,
            log_dir=None if server.log_dir is None else Path(str(server.log_dir)) / id,
        )
        return session_options(self._config, chosen)

    async def begin(self, id: str, title: str, start: Start, afterwards: str) -> Debuggee:
        """A new session. Raises what ``start`` raises."""
        debuggee = Debuggee(id, title, afterwards)
        self._open[debuggee.id] = debuggee
        self._busy[debuggee.id] = 1
        try:
            await debuggee.begin(start)
        except BaseException:
            self._forget(debuggee.id, "it could not be started")
            raise
        self._released(debuggee.id)
        return debuggee

    @asynccontextmanager
    async def using(self, id: str) -> AsyncIterator[Debuggee]:
        """The session of this id, which is not idle meanwhile. Raises CommandError where there is none."""
        debuggee = self._open.get(id)
        if debuggee is None:
            raise CommandError(*self._why_not(id))
        self._busy[id] += 1
        timer = self._timers.pop(id, None)
        if timer is not None:
            timer.cancel()
        try:
            yield debuggee
        finally:
            self._released(id)

    def traces(self, pid: int) -> bool:
        """Whether a session of ours holds this process, so that nobody else can stop it."""
        return self.of_process(pid) is not None

    async def held(self, pid: int) -> Held | None:
        """This process for a snapshot, where gdb has it stopped in a session of ours."""
        id = self.of_process(pid)
        return None if id is None else await self._open[id].session.inspector.held()

    def of_process(self, pid: int) -> str | None:
        """The session whose process this is. The number of a core's may be that of another one now."""
        met = (one for one in self._open.values() if one.is_met and not one.over)
        live = (one for one in met if not isinstance(one.session, CoreSession))
        return next((one.id for one in live if one.session.pid == pid), None)

    def state_of(self, id: object) -> tuple[State | None, bool]:
        """What a session does, and whether it is on a core; None where there is none of this id."""
        debuggee = self._open.get(id) if isinstance(id, str) else None
        if debuggee is None or not debuggee.is_met:
            return None, False
        return debuggee.session.state, isinstance(debuggee.session, CoreSession)

    async def end(self, id: str, why: str) -> None:
        """End a session; a program that was started ends with it, a process that was attached to goes on."""
        debuggee = self._open.get(id)
        if debuggee is not None:
            self._forget(id, why)
            await to_its_end(debuggee.close())

    async def close(self) -> None:
        """End all sessions."""
        await asyncio.gather(*(self.end(id, "the server has ended") for id in list(self._open)))
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _released(self, id: str) -> None:
        if id not in self._open:
            return
        self._busy[id] -= 1
        if not self._busy[id]:
            loop = asyncio.get_running_loop()
            self._timers[id] = loop.call_later(self.settings.idle, self._end_idle, id)

    def _end_idle(self, id: str) -> None:
        why = f"nobody asked for it for {self.settings.idle:g} s: {self._open[id].afterwards}"
        task = asyncio.get_running_loop().create_task(self.end(id, why), name=f"end of {id}")
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _forget(self, id: str, why: str) -> None:
        self._open.pop(id, None)
        self._busy.pop(id, None)
        timer = self._timers.pop(id, None)
        if timer is not None:
            timer.cancel()
        self._gone[id] = why
        if len(self._gone) > _MOST_GONE:
            del self._gone[next(iter(self._gone))]

    def _why_not(self, id: str) -> tuple[str, str]:
        """Why there is no session of this id, and what there is."""
        why = (
            f"session {id} is no more: {self._gone[id]}"
            if id in self._gone
            else f"there is no session {id!r}"
        )
        rows = [f"{one.id} ({one.title})" for one in self._open.values()]
        there = f"sessions: {', '.join(rows)}" if rows else "no session is open"
        return why, f"{there}; {self.permissions.how_to_begin} begins another one"
