"""One child process, from when it joins its program's run until its session ends."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from ...errors import EngineLost
from ...model import Event, State
from ...session.inferiors import Process
from ...session.session import Session
from ..configuration import Configuration
from ..waits import first_of

OVER = (State.EXITED, State.DETACHED, State.LOST)
Configure = Callable[[Session], Awaitable[None]]


class ClientSession(Protocol):
    """The debug session of the client that came for a child."""

    def ends_with_its_program(self) -> None:
        """The client of the program has ended it, and this child with it."""

    async def caught_up(self) -> None:
        """Wait until the client has been told of everything so far."""

    def finish(self) -> None:
        """Close the connection."""


@dataclass(eq=False)
class Child:
    """A process that joined the program's run. It waits until a client has come for it and has configured its session.

    ``events`` has everything that happened in it. ``configuration`` is that of its program. With ``token`` a client
    shows that it comes for this child.
    """

    process: Process
    events: asyncio.Queue[Event]
    configuration: Configuration
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    client_session: ClientSession | None = None
    configured: asyncio.Event = field(default_factory=asyncio.Event)
    taken: asyncio.Event = field(default_factory=asyncio.Event)
    given_up: asyncio.Event = field(default_factory=asyncio.Event)
    why: str = ""
    configure: Configure | None = None

    @property
    def session(self) -> Session:
        """The session of the process."""
        return self.process.session

    def give_up(self, why: str) -> None:
        """No client comes: the process runs on without a debugger."""
        self.why = why
        self.given_up.set()

    async def be_configured(self) -> None:
        """Wait until a client came for it and has set its breakpoints. Raises EngineLost when none does."""
        await first_of(self.taken, self.given_up)
        if self.configure is not None and not self.given_up.is_set():
            work = asyncio.ensure_future(self.configure(self.session))
            await first_of(self.given_up, work)
            if not work.done():
                work.cancel()
            else:
                work.result()
        if self.given_up.is_set():
            raise EngineLost(self.why)
        self.configured.set()

    async def end(self, *, kill: bool) -> None:
        """Its session is over: with ``kill`` the process ends, else it runs on."""
        self.give_up("its debug session has ended")
        session = self.session
        if self.configured.is_set() and session.state not in OVER:
            if kill and self.client_session is not None:
                self.client_session.ends_with_its_program()
            await (session.kill() if kill else session.detach())
