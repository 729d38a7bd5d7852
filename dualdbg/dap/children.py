"""Child processes of a client's program: the client is asked to start a debug session for each (startDebugging)."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import CommandError, DualdbgError, EngineLost, WrongState
from ..model import Event, State
from ..session.group import Process
from ..session.session import Session
from .adapter import first_of
from .configuration import Configuration
from .offer import Offer
from .relay import Elsewhere

if TYPE_CHECKING:
    from .adapter import Adapter

_HOST = "127.0.0.1"
_DEADLINE = 60.0  # seconds that a client has to come for a child, which waits
_GRACE = 2.0  # seconds in which clients take the last messages
_OVER = (State.EXITED, State.DETACHED, State.LOST)
Configure = Callable[[Session], Awaitable[None]]


@dataclass(eq=False)
class Child:
    """A process that joined the program's run. It waits until a client has come for it and has configured its session.

    ``events`` has everything that happened in it, ``mappings`` are the folders of its program's configuration.
    """

    process: Process
    events: asyncio.Queue[Event]
    configuration: Configuration
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    adapter: Adapter | None = None  # that of the client that came
    configured: asyncio.Event = field(default_factory=asyncio.Event)
    taken: asyncio.Event = field(default_factory=asyncio.Event)
    given_up: asyncio.Event = field(default_factory=asyncio.Event)
    why: str = ""
    configure: Configure | None = None

    @property
    def session(self) -> Session:
        return self.process.session

    def give_up(self, why: str) -> None:
        """Nobody comes for it: it runs on without a debugger."""
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
        """Its session is over: with ``kill`` it ends, else it runs on."""
        self.give_up("its debug session has ended")
        session = self.session
        if self.configured.is_set() and session.state not in _OVER:
            await (session.kill() if kill else session.detach())


class Children:
    """Those of one program, until it is let go of."""

    def __init__(self, adapter: Adapter, configuration: Configuration) -> None:
        self._adapter = adapter
        self._configuration = configuration
        self._all: list[Child] = []
        self._server: asyncio.base_events.Server | None = None
        self._address: tuple[str, int] | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()

    async def open(self) -> None:
        """See to a port for their clients: that of a server, else one of their own, where nothing else is to be had."""
        self._address = self._adapter.offer.address
        if self._address is not None:
            return
        offer = self._adapter.offer
        only = Offer(
            log_dir=offer.log_dir, children=offer.children, only_children=True, clients=offer.clients
        )
        from .server import serve

        def arrived(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(serve(reader, writer, only), name="client of a child")
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

        self._server = await asyncio.start_server(arrived, _HOST, 0)
        self._address = _HOST, int(self._server.sockets[0].getsockname()[1])

    def joined(self, process: Process) -> None:
        """A process joins: its events are kept from now on, and the client hears of it."""
        child = Child(process, process.session.subscribe(), self._configuration)
        self._all.append(child)
        self._adapter.offer.children[child.token] = child
        self._adapter.background(self._invite(child))
        process.session.background(self._watch(child))

    async def configure(self, session: Session) -> None:
        """Awaited before a process that joined runs its first line. Raises EngineLost when it is to run on alone."""
        child = next(one for one in self._all if one.session is session)
        try:
            await child.be_configured()
        finally:
            self._adapter.offer.children.pop(child.token, None)

    async def _watch(self, child: Child) -> None:
        await child.session.ended.wait()
        self._changed.set()

    async def _invite(self, child: Child) -> None:
        """Ask the client for a session; it may answer when that runs, long after its connection came."""
        asked = asyncio.ensure_future(
            self._adapter.connection.ask(
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
        return any(child.session.state not in _OVER for child in self._all)

    async def all_ended(self) -> None:
        """Wait for the end of those that are debugged."""
        while self.alive:
            self._changed.clear()
            if self.alive:
                await self._changed.wait()

    async def end(self, *, kill: bool) -> None:
        """The session of every child ends; ``kill``: so do the processes, which run on otherwise."""
        for child in self._all:
            try:
                await child.end(kill=kill)
            except DualdbgError as error:
                self._adapter.connection.output("important", f"{error.message}\n")
            if child.adapter is not None:
                await child.adapter.pump.caught_up()
                child.adapter.finish()

    async def close(self, *, kill: bool) -> None:
        """The same; their clients are served to the end, and no other comes."""
        await self.end(kill=kill)
        if self._server is not None:
            self._server.close()
            if self._connections:
                await asyncio.wait(self._connections, timeout=_GRACE)
            for task in self._connections:
                task.cancel()  # a client that came for no child, or does not read
            await asyncio.gather(*self._connections, return_exceptions=True)


async def adopt(adapter: Adapter, configuration: Configuration, configure: Configure) -> None:
    """The client comes for a child; ``configure`` is awaited before the child runs, and the call returns then.

    Raises WrongState when there is no such child, Elsewhere when another adapter has it, EngineLost when it could not
    be debugged after all.
    """
    token = configuration.child or ""
    child = adapter.offer.children.pop(token, None)
    if child is None and configuration.connect is not None and not _is_here(adapter, configuration.connect):
        raise Elsewhere(configuration.connect)
    if child is None or child.given_up.is_set():
        raise WrongState("the child process that this session was for is gone", "start its program again")
    adapter.process_name = child.process.title
    adapter.start_method = "attachForSuspendedLaunch"
    adapter.connection.event("capabilities", {"capabilities": {"supportsRestartRequest": False}})
    adapter.begin(child.session, child.events)
    child.adapter, child.configure = adapter, configure

    async def end() -> None:
        await child.end(kill=False)
        await child.session.close()
        await adapter.pump.caught_up()

    adapter.end_session = end
    child.taken.set()
    await first_of(child.configured, child.given_up, child.session.ended)
    if not child.configured.is_set():
        raise EngineLost(child.why or "the child process has ended")


def _is_here(adapter: Adapter, address: tuple[str, int]) -> bool:
    """Whether the client came to this adapter by the address of the child."""
    offer = adapter.offer
    return offer.only_children or (offer.address is not None and offer.address[1] == address[1])


def check(adapter: Adapter, configuration: Configuration) -> bool:
    """Whether the children are followed; why not is told where the user has asked for it."""
    if not configuration.follow:
        return False
    if "StartDebuggingRequest" in adapter.client.supports:
        return True
    if not configuration.follow_by_default:
        adapter.connection.output(
            "console",
            "dualdbg: child processes run without a debugger: the editor starts no sessions (startDebugging)\n",
        )
    return False


def refuse_others(adapter: Adapter) -> None:
    """Raises CommandError where a client may only come for a child."""
    if adapter.offer.only_children:
        raise CommandError("only child processes of a program that is debugged are to be had here")
