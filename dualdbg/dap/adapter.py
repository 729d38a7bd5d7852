"""One client's debug session: its parts, and its life from the first message to the end of the program."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..errors import DualdbgError
from ..model import Event, Exit
from ..session.session import Session
from ..session.start import StartedTarget
from ..session.state import OVER
from ..system.patience import patient
from .client.conventions import Client
from .client.port import ClientPort
from .configuration import Configuration
from .debuggee import Debuggee
from .failures import internal_error
from .offer import Offer
from .presentation import bodies
from .presentation.breakpoints import BreakpointBook
from .presentation.events import Pump
from .presentation.module_news import ModuleNews
from .presentation.prompt import Prompt
from .presentation.sources import SourceBook
from .presentation.values import Values
from .stages import Stage
from .subprocesses.children import Children, ServeClient
from .waits import within

_TO_DISCONNECT = patient(1.0)  # seconds for a client to disconnect after the end of the server's program


@dataclass(frozen=True)
class StartedFrom:
    """How this client's program was started, so that it can be started again."""

    configuration: Configuration
    own_terminal: bool = False  # that of the server


class Adapter:
    """The state that the requests of one client share.

    ``offer`` is what the server lets a client start or attach to. ``serve`` serves one of the clients that come for
    child processes.
    """

    def __init__(self, connection: ClientPort, offer: Offer, serve: ServeClient) -> None:
        self.connection = connection
        self.offer = offer
        self.client = Client()
        self.debuggee = Debuggee()
        self.sources = SourceBook(self.client, self.debuggee)
        self.breakpoints = BreakpointBook(connection, self.client, self.debuggee, self.sources)
        self.values = Values(self.debuggee)
        self.pump = Pump(connection, self.client, self.debuggee, self.breakpoints, self)
        self.configured = asyncio.Event()
        self.finished = asyncio.Event()  # the client has disconnected in good order
        self.launched = False
        self.children: Children | None = None  # the child processes of the program, where they are followed
        self.took_program = False  # the program is the one that the server was started with
        self.module_news = ModuleNews()
        self.told_over = False  # the client knows that the target is gone
        self.ending = False  # we end the program, so its end is not reported
        self._ends_with_its_program = False
        self.started_from: StartedFrom | None = None
        self.end_session: Callable[[], Awaitable[None]] | None = None
        self.plain: StartedTarget | None = None  # a program that has no debugger in it
        self.cancel: Callable[[int], None] = lambda seq: None  # takes back the request of that number
        self._serve = serve
        self._prompt: Prompt | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def session(self) -> Session:
        """Raises WrongState while there is none."""
        return self.debuggee.session

    @property
    def prompt(self) -> Prompt:
        """The prompt's commands; made when the first is typed."""
        if self._prompt is None:
            self._prompt = Prompt(self.session)
        return self._prompt

    # -- life -----------------------------------------------------------------------------------

    def begin(self, session: Session, events: asyncio.Queue[Event] | None = None) -> None:
        """A session begins. Nothing has happened in it yet, or ``events`` has everything that has."""
        self.ending = False
        self.module_news = ModuleNews()
        self.debuggee.begin(session)
        self.pump.follow(session, events)

    def followed(self, wanted: Configuration) -> Children | None:
        """The object that follows the children of a program that is to start; None where they are not followed."""
        if not wanted.follow:
            return None
        if "StartDebuggingRequest" in self.client.supports:
            return Children(self.connection, self.offer, self._serve, self.background, wanted)
        if not wanted.follow_by_default:
            self.connection.output(
                "console",
                "dualdbg: child processes run without a debugger: the editor starts no sessions (startDebugging)\n",
            )
        return None

    def exited(self, exit: Exit) -> None:
        """The program has ended, and the client has got everything that it wrote."""
        if exit.code is None and not self.ending:
            category = (
                "console" if self.debuggee.is_child else "important"
            )  # a pool ends its workers by a signal
            self.connection.output(category, f"The program {exit.in_words()}.\n")
        self.offer.exit_code = bodies.exit_code(exit.code, exit.signal)
        # A status that is our signal would look like a crash of the child.
        if not self._ends_with_its_program:
            self.connection.event("exited", {"exitCode": self.offer.exit_code})
        if self.children is not None and self.children.alive and not self.ending:
            self.background(self._over_with(self.children))
        else:
            self.over()

    def ends_with_its_program(self) -> None:
        """The debuggee is a child process whose program was ended by that one's client."""
        self.ending = self._ends_with_its_program = True

    async def _over_with(self, children: Children) -> None:
        """Wait for the children, which may outlive the program: their sessions belong to this one and end with it."""
        await children.all_ended()
        if children is self.children:
            self.over()

    def over(self) -> None:
        """The target is gone, or runs on without the debugger."""
        self.debuggee.stage = Stage.ENDED
        if not self.told_over:
            self.told_over = True
            self.connection.event("terminated")
            if self.took_program:
                self.background(self._take_leave())

    async def _take_leave(self) -> None:
        """Who started the server with its program waits for its end, of which the client need not know."""
        await within(_TO_DISCONNECT, self.finished.wait(), False)
        if self.debuggee.stage is Stage.ENDED:  # else it has begun again
            self.finish()

    async def let_go(self) -> None:
        """The target runs on, where there is one; what else belongs to it is dealt with by :meth:`end`."""
        session = self.debuggee.session_or_none
        if session is not None and session.state not in OVER:
            await session.detach()

    async def end(self, *, tell: bool = True) -> None:
        """Let go of the target: a launched program ends, an attached one runs on. ``tell``: tell the client of it."""
        self.debuggee.stage = Stage.ENDED
        self.ending = True
        if not tell:
            self.pump.close()
        end, self.end_session = self.end_session, None
        if end is not None:
            await end()
        self.forget()
        if tell and end is not None:
            self.over()

    def forget(self) -> None:
        """There is no session any more."""
        self.pump.close()
        if self._prompt is not None:
            self.background(self._prompt.close())
            self._prompt = None
        self.debuggee.forget()

    def finish(self) -> None:
        """The client has disconnected in good order: the connection is closed once its answer is sent."""
        self.finished.set()

    async def caught_up(self) -> None:
        """Wait until the client has been told of everything so far."""
        await self.pump.caught_up()

    # -- work beside the requests -----------------------------------------------------------------

    def background(self, work: Awaitable[None]) -> asyncio.Task[None]:
        """Run ``work`` beside the requests. The user is told of an error in it."""
        task = asyncio.ensure_future(self.guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def guarded(self, work: Awaitable[None]) -> None:
        """Await ``work``. The user is told of an error in it, and nothing else ends."""
        try:
            await work
        except DualdbgError as error:
            self.connection.output("important", f"{error}\n")
        except Exception:
            self.connection.output("important", f"{internal_error().message}\n")

    async def stop_background(self) -> None:
        """Nothing runs beside the requests any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
