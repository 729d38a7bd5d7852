"""The child processes of one program: the client is asked to start a debug session for each (startDebugging)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ...errors import DualdbgError
from ...session.inferiors import Process
from ...session.session import Session
from ...system.patience import patient
from ..client.port import ClientPort
from ..configuration import Configuration
from ..offer import Offer
from ..waits import first_of
from .child import OVER, Child

_HOST = "127.0.0.1"
_DEADLINE = patient(60.0)  # seconds that a client has to come for a child, which waits
_GRACE = patient(2.0)  # seconds in which clients take the last messages
ServeClient = Callable[[asyncio.StreamReader, asyncio.StreamWriter, Offer], Awaitable[None]]
"""Serves one client until it is gone."""


class Children:
    """The child processes of one program, until the program is let go of.

    ``connection`` leads to the program's own client; ``serve`` serves those that come for the children, and
    ``background`` runs work whose errors the user hears of.
    """

    def __init__(
        self,
        connection: ClientPort,
        offer: Offer,
        serve: ServeClient,
        background: Callable[[Awaitable[None]], object],
        configuration: Configuration,
    ) -> None:
        self._connection = connection
        self._offer = offer
        self._serve = serve
        self._background = background
        self._configuration = configuration
        self._all: list[Child] = []
        self._server: asyncio.base_events.Server | None = None
        self._address: tuple[str, int] | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()

    async def open(self) -> None:
        """Provide a port for their clients: the server's port, else a new one that is only for children."""
        offer = self._offer
        self._address = offer.address
        if self._address is not None:
            return
        only = Offer(
            log_dir=offer.log_dir, children=offer.children, only_children=True, clients=offer.clients
        )

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._serve(reader, writer, only)

        def arrived(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(serve(reader, writer), name="client of a child")
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

        self._server = await asyncio.start_server(arrived, _HOST, 0)
        self._address = _HOST, int(self._server.sockets[0].getsockname()[1])

    def joined(self, process: Process) -> None:
        """A process joins: its events are kept from now on, and the client hears of it."""
        child = Child(process, process.session.subscribe(), self._configuration)
        self._all.append(child)
        self._offer.children[child.token] = child
        self._background(self._invite(child))
        process.session.background(self._watch(child))

    async def configure(self, session: Session) -> None:
        """Awaited before a process that joined runs its first line. Raises EngineLost when no client has come."""
        child = next(one for one in self._all if one.session is session)
        try:
            await child.be_configured()
        finally:
            self._offer.children.pop(child.token, None)

    async def _watch(self, child: Child) -> None:
        await child.session.ended.wait()
        self._changed.set()

    async def _invite(self, child: Child) -> None:
        """Ask the client for a session. Its answer may come long after it has connected, when the session runs."""
        asked = asyncio.ensure_future(
            self._connection.ask(
                "startDebugging",
                {"request": "attach", "configuration": self._wanted(child)},
                _DEADLINE,
            )
        )
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            await asyncio.wait_for(first_of(child.taken, child.given_up, asked), _DEADLINE)
            if asked.done() and not child.taken.is_set():
                asked.result()
                await asyncio.wait_for(first_of(child.taken, child.given_up), _DEADLINE)
        except DualdbgError as error:
            child.give_up(error.message)
        except asyncio.TimeoutError:
            child.give_up(f"the editor did not come for it within {_DEADLINE:g} s")

    def _wanted(self, child: Child) -> dict[str, Any]:
        """A configuration that leads back here, for clients of every kind."""
        assert self._address is not None
        host, port = self._address
        mappings = [
            {"localRoot": one.local, "remoteRoot": one.remote} for one in self._configuration.mappings
        ]
        return {
            "name": f"process {child.process.number} ({child.session.pid})",
            **({"type": self._configuration.type} if self._configuration.type else {}),
            "request": "attach",
            "connect": {"host": host, "port": port},
            "debugServer": port,  # VS Code connects there, whatever the type (it asks for a number)
            "childToken": child.token,
            **({"pathMappings": mappings} if mappings else {}),
        }

    # -- the end ----------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        """Whether any of them has not ended."""
        return any(child.session.state not in OVER for child in self._all)

    async def all_ended(self) -> None:
        """Wait for the end of those that are debugged."""
        while self.alive:
            self._changed.clear()
            if self.alive:
                await self._changed.wait()

    def end_with_program(self) -> None:
        """The program is ended by its client, and they with it: to be called before it is."""
        for child in self._all:
            if child.client_session is not None:
                child.client_session.ends_with_its_program()

    async def end(self, *, kill: bool) -> None:
        """End the session of every child, and tell its client. With ``kill`` the processes end, else they run on."""
        for child in self._all:
            try:
                await child.end(kill=kill)
            except DualdbgError as error:
                self._connection.output("important", f"{error.message}\n")
            if child.client_session is not None:
                await child.client_session.caught_up()

    async def close(self, *, kill: bool) -> None:
        """Do what :meth:`end` does, serve their clients to the end, and accept no others."""
        await self.end(kill=kill)
        for child in self._all:
            if child.client_session is not None:
                child.client_session.finish()
        if self._server is not None:
            self._server.close()
            if self._connections:
                await asyncio.wait(self._connections, timeout=_GRACE)
            for task in self._connections:
                task.cancel()  # a client that did not come for a child, or does not read
            await asyncio.gather(*self._connections, return_exceptions=True)
