"""One client's debug session: takes its requests in order, asks the session, and tells the client what happens."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import DualdbgError, EngineError, ProtocolError, UsageError, WrongState
from ..model import Event, Exit, Frame
from ..protocol import dap
from ..session.code import Code
from ..session.memory import Memory
from ..session.session import Session
from . import translate
from .arguments import Arguments
from .client import Client
from .connection import Connection
from .handles import Handles
from .paths import PathMap
from .prompt import Prompt
from .registry import Request, Stage, of_post_mortem, requests
from .relay import Elsewhere, Relay
from .values import Container, Values

if TYPE_CHECKING:
    from .breakpoints import BreakpointBook
    from .children import Children
    from .events import Pump
    from .offer import Offer
    from .requests.start import StartRequest
    from .sources import SourceBook

_T = TypeVar("_T")

_QUEUE = 256  # requests that wait for their turn; past it the client's socket is not read

# What to say when a request comes before, or after, its time.
_WHEN = {
    Stage.NEW: ("the client has not sent initialize yet", ""),
    Stage.INITIALIZED: ("there is no program yet", "send launch or attach first"),
    Stage.STARTING: ("the program is being started", "wait for the initialized event"),
    Stage.CONFIGURING: ("the program does not run yet", "send configurationDone first"),
    Stage.LIVE: ("the program runs already", ""),
    Stage.POST_MORTEM: ("a core file is looked at: nothing runs", ""),
    Stage.ENDED: ("the debug session has ended", "start it again"),
}


@dataclass(frozen=True)
class FrameHandle:
    """What a frame id stands for: ``frame`` of thread ``tid`` in the stop ``epoch``."""

    tid: int
    frame: Frame
    epoch: int


@dataclass
class Waiting:
    """A request under way: in the queue, or being answered by ``task``."""

    message: dap.Message
    request: Request
    task: asyncio.Task[None] | None = None
    cancelled: bool = False


@dataclass
class Tables:
    """The numbers that this client knows."""

    frames: Handles[FrameHandle] = field(default_factory=lambda: Handles("frame"))
    variables: Handles[Container] = field(default_factory=lambda: Handles("variables reference"))
    calls: Handles[int] = field(default_factory=lambda: Handles("step-in target"))  # addresses of functions

    def clear(self) -> None:
        self.frames.clear()
        self.variables.clear()
        self.calls.clear()


class Adapter:
    """The state of one client. ``offer`` is what the server lets a client start or attach to."""

    def __init__(self, connection: Connection, offer: Offer) -> None:
        from .breakpoints import BreakpointBook
        from .events import Pump
        from .sources import SourceBook

        self.connection = connection
        self.offer = offer
        self.client = Client()
        self.paths = PathMap()
        self.stage = Stage.NEW
        self.tables = Tables()
        self.breakpoints: BreakpointBook = BreakpointBook(self)
        self.sources: SourceBook = SourceBook(self)
        self.pump: Pump = Pump(self)
        self.values = Values(self)
        self.session_or_none: Session | None = None
        self.code: Code
        self.memory: Memory
        self.configured = asyncio.Event()
        self.launched = False
        self.start_method = "attach"  # the protocol's word for how the process came to be debugged
        self.children: Children | None = None  # those of the program, where they are followed
        self.took_program = False  # the one that the server was started with
        self.ending = False  # we end the program: how it ended is no news
        self.process_name = ""
        self.start: StartRequest | None = None
        self.end_session: Callable[[], Awaitable[None]] | None = None
        self._prompt: Prompt | None = None
        self._relay: Relay | None = None
        self._under_way: dict[int, Waiting] = {}
        self._queue: asyncio.Queue[Waiting] = asyncio.Queue(_QUEUE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._finished = asyncio.Event()

    # -- life -----------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Serve the client until it is gone or has disconnected; the target is left as it is to be left then."""
        worker = asyncio.create_task(self._take_turns(), name="requests")
        reader = asyncio.create_task(self._read(), name="client")
        finished = asyncio.create_task(self._finished.wait())
        try:
            await asyncio.wait({reader, finished, worker}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reader, finished, worker, *self._tasks):
                task.cancel()
            await asyncio.gather(reader, finished, worker, *self._tasks, return_exceptions=True)
            await self.end()
            await self.connection.close()
            if self.took_program:
                self.offer.program_done = True

    def finish(self) -> None:
        """The client has disconnected in good order: the connection is closed once its answer is sent."""
        self._finished.set()

    async def end(self, *, tell: bool = True) -> None:
        """Let go of the target: a launched one ends, an attached one runs on. ``tell``: the client hears of its end."""
        self.stage = Stage.ENDED
        self.ending = True
        if not tell:
            self.pump.close()
        end, self.end_session = self.end_session, None
        if end is not None:
            await end()
        self.forget()

    @property
    def prompt(self) -> Prompt:
        """The prompt's commands; made when the first is typed."""
        if self._prompt is None:
            self._prompt = Prompt(self)
        return self._prompt

    def begin(self, session: Session, events: asyncio.Queue[Event] | None = None) -> None:
        """There is a session. Nothing has happened in it yet, unless ``events`` has it all."""
        self.ending = False
        self.session_or_none = session
        self.code = Code(session)
        self.memory = Memory(session)
        self.pump.follow(session, events)

    def forget(self) -> None:
        """There is no session any more."""
        self.pump.close()
        self.tables.clear()
        if self._prompt is not None:
            self.background(self._prompt.close())
            self._prompt = None
        self.session_or_none = None

    @property
    def session(self) -> Session:
        """Raises WrongState while there is none."""
        if self.session_or_none is None:
            plain = self.stage is Stage.LIVE
            raise WrongState(*(("the program runs without a debugger", "") if plain else _WHEN[self.stage]))
        return self.session_or_none

    def background(self, work: Awaitable[None]) -> asyncio.Task[None]:
        """Run beside the requests; an error of it is told to the user, never lost."""
        task = asyncio.ensure_future(self.guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def guarded(self, work: Awaitable[None]) -> None:
        """Do it; an error is told to the user, and ends nothing else."""
        try:
            await work
        except DualdbgError as error:
            self.connection.output("important", f"{error}\n")
        except Exception:
            self.connection.output("important", f"{_internal_error().message}\n")

    # -- requests -------------------------------------------------------------------------------

    async def _read(self) -> None:
        async for item in self.connection.messages():
            if isinstance(item, ProtocolError):
                self.connection.refuse({}, UsageError(item.message))
            elif self._relay is not None:
                self._relay.send(item)
            elif item["type"] == "request":
                await self._accept(item)
            elif item["type"] == "response":
                self.connection.answered(item)
            else:
                self.connection.refuse(item, UsageError(f"a client sends no {item['type'][:40]!r}"))

    async def _accept(self, message: dap.Message) -> None:
        command = message.get("command")
        seq = message.get("seq")
        row = requests().get(command) if isinstance(command, str) else None
        if row is None:
            shown = command[:80] if isinstance(command, str) else "without a command"
            self.connection.refuse(message, UsageError(f"dualdbg does not know the request {shown!r}"))
            return
        if not isinstance(seq, int) or isinstance(seq, bool):
            self.connection.refuse(message, UsageError(f"{command}: the request has no seq"))
            return
        waiting = Waiting(message, row)
        self._under_way[seq] = waiting
        if row.urgent:
            self._begin(waiting)
        else:
            await self._queue.put(waiting)

    async def _take_turns(self) -> None:
        while True:
            waiting = await self._queue.get()
            if waiting.cancelled:
                continue
            task = self._begin(waiting)
            if waiting.request.aside:
                await asyncio.sleep(0)  # it has begun before the next one does
            else:
                await asyncio.wait({task})

    def _begin(self, waiting: Waiting) -> asyncio.Task[None]:
        waiting.task = asyncio.create_task(self._answer(waiting), name=waiting.request.command)
        self._tasks.add(waiting.task)

        def finished(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            self._under_way.pop(waiting.message["seq"], None)
            if task.cancelled():  # perhaps before it had begun
                self.connection.refuse_cancelled(waiting.message)

        waiting.task.add_done_callback(finished)
        return waiting.task

    async def _answer(self, waiting: Waiting) -> None:
        message, row = waiting.message, waiting.request
        arguments = message.get("arguments")
        try:
            of_core = of_post_mortem(row.command) if self.stage is Stage.POST_MORTEM else None
            if of_core is not None:
                self.connection.respond(message, await of_core(self, Arguments(row.command, arguments)))
            elif self.stage not in row.stages and not (self.stage is Stage.POST_MORTEM and row.only_looks):
                raise WrongState(f"{row.command}: {_WHEN[self.stage][0]}", _WHEN[self.stage][1])
            elif row.resumes:
                async with self.pump.quiet:
                    self.pump.implied.add(self.session.epoch + 1)
                    self.connection.respond(
                        message, await row.answer(self, Arguments(row.command, arguments))
                    )
            else:
                self.connection.respond(message, await row.answer(self, Arguments(row.command, arguments)))
        except Elsewhere as other:
            await self._hand_on(message, other.address)
            return
        except DualdbgError as error:
            self.connection.refuse(message, error, show=row.command in ("launch", "attach"))
        except Exception:
            self.connection.refuse(message, _internal_error())
        if row.command == "disconnect":
            self.finish()

    async def _hand_on(self, message: dap.Message, address: tuple[str, int]) -> None:
        """From this request on the adapter at ``address`` serves the client."""
        try:
            self._relay = relay = await Relay.begin(self.connection, address, self.client.hello, message)
        except DualdbgError as error:
            self.connection.refuse(message, error, show=True)
            return
        self.end_session = relay.close

        async def run() -> None:
            await relay.run()
            self.finish()

        self.background(run())

    def cancel(self, seq: int) -> None:
        """The client takes back its request ``seq``.

        One that is answered already is not touched; one under way only when it may be left half done.
        """
        waiting = self._under_way.get(seq)
        if waiting is None:
            return
        if waiting.task is not None:
            if waiting.request.only_looks:
                waiting.task.cancel()
            return
        waiting.cancelled = True
        del self._under_way[seq]
        self.connection.refuse_cancelled(waiting.message)

    # -- what requests share ----------------------------------------------------------------------

    def frame(self, arguments: Arguments, name: str = "frameId") -> FrameHandle:
        """The frame that a request names. Raises StaleHandle for one of an earlier stop."""
        handle = self.tables.frames.get(arguments.number(name))
        self.session.inspector.check_epoch(handle.epoch)
        return handle

    def exited(self, exit: Exit) -> None:
        """The program has ended, and everything that it wrote has been told."""
        text = translate.exit_text(exit.signal)
        if text is not None and not self.ending:
            self.connection.output("important", text)
        self.offer.exit_code = translate.exit_code(exit.code, exit.signal)
        self.connection.event("exited", {"exitCode": self.offer.exit_code})
        if self.children is not None and self.children.alive and not self.ending:
            self.background(self._over_with(self.children))
        else:
            self.over()

    async def _over_with(self, children: Children) -> None:
        """Children of the program may outlive it: their sessions are this one's, and end with it."""
        await children.all_ended()
        if children is self.children:
            self.over()

    def over(self) -> None:
        """The target is gone, or goes its own way."""
        if self.stage is not Stage.ENDED:
            self.stage = Stage.ENDED
            self.connection.event("terminated")

    def gone(self) -> bool:
        return self.connection.closed.is_set()


async def within(seconds: float, work: Awaitable[_T], otherwise: _T) -> _T:
    """The result of ``work``, or ``otherwise`` when it takes longer."""
    with contextlib.suppress(asyncio.TimeoutError):
        return await asyncio.wait_for(work, seconds)
    return otherwise


async def first_of(*waits: asyncio.Event | asyncio.Future[Any]) -> None:
    """Wait for the first of them."""
    tasks = {
        wait if isinstance(wait, asyncio.Future) else asyncio.ensure_future(wait.wait()) for wait in waits
    }
    ours = tasks - {wait for wait in waits if isinstance(wait, asyncio.Future)}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in ours:
            task.cancel()


def _internal_error() -> DualdbgError:
    """For what should not have happened: the traceback goes to stderr, which editors keep in a log."""
    traceback.print_exc(file=sys.stderr)
    kind, value, _ = sys.exc_info()
    name = kind.__name__ if kind else "error"
    return EngineError(f"something went wrong in dualdbg: {name}: {value}", "its log has the details")
