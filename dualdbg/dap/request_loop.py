"""Takes the requests of one client in order, has each answered, and ends the debug session with the connection."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from ..errors import DualdbgError, UsageError
from ..protocol import dap
from ..system.waiting import to_its_end
from . import requests  # noqa: F401 (the modules in it fill the table of requests)
from .adapter import Adapter
from .client.arguments import Arguments
from .connection import Connection
from .failures import internal_error
from .offer import Offer
from .registry import OF_POST_MORTEM, REQUESTS, Request
from .stages import Stage, wrong_time
from .stepping_alone import others_stand
from .subprocesses.children import ServeClient
from .subprocesses.relay import Elsewhere, Relay

_QUEUE = 256  # requests that wait for their turn; with as many, the client's socket is not read


@dataclass
class Waiting:
    """A request under way: in the queue, or being answered by ``task``."""

    message: dap.Message
    request: Request
    task: asyncio.Task[None] | None = None
    cancelled: bool = False


class RequestLoop:
    """Reads what one client sends. ``offer`` and ``serve`` are the server's (:class:`Adapter`)."""

    def __init__(self, connection: Connection, offer: Offer, serve: ServeClient) -> None:
        self._connection = connection
        self._adapter = Adapter(connection, offer, serve)
        self._adapter.cancel = self._cancel
        self._relay: Relay | None = None
        self._under_way: dict[int, Waiting] = {}
        self._queue: asyncio.Queue[Waiting] = asyncio.Queue(_QUEUE)
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve the client until it is gone or has disconnected, and then let go of the target."""
        adapter = self._adapter
        worker = asyncio.create_task(self._take_turns(), name="requests")
        reader = asyncio.create_task(self._read(), name="client")
        finished = asyncio.create_task(adapter.finished.wait())
        try:
            await asyncio.wait({reader, finished, worker}, return_when=asyncio.FIRST_COMPLETED)
        finally:  # a signal to dualdbg may come while the client's end is still being dealt with
            await to_its_end(self._leave([reader, finished, worker]))

    async def _leave(self, serving: list[asyncio.Task[Any]]) -> None:
        """The client is gone: nothing is asked for any more, and the target is let go of."""
        adapter = self._adapter
        ending = [*serving, *self._tasks]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, adapter.stop_background(), return_exceptions=True)
        if adapter.took_program and not adapter.offer.closing:
            await adapter.guarded(adapter.let_go())
        await adapter.end()
        await self._connection.close()
        if adapter.took_program:
            offer = adapter.offer
            offer.taken = False
            offer.program_done = offer.running is None or offer.program_done

    # -- in order -------------------------------------------------------------------------------

    async def _read(self) -> None:
        async for item in self._connection.messages():
            if self._relay is not None:
                self._relay.send(item)
            elif item["type"] == "request":
                await self._accept(item)
            elif item["type"] == "response":
                self._connection.answered(item)
            else:
                self._connection.refuse(item, UsageError(f"a client sends no {item['type'][:40]!r}"))

    async def _accept(self, message: dap.Message) -> None:
        command = message.get("command")
        seq = message.get("seq")
        row = REQUESTS.get(command) if isinstance(command, str) else None
        if row is None:
            shown = command[:80] if isinstance(command, str) else "without a command"
            self._connection.refuse(message, UsageError(f"dualdbg does not know the request {shown!r}"))
            return
        if not isinstance(seq, int) or isinstance(seq, bool):
            self._connection.refuse(message, UsageError(f"{command}: the request has no seq"))
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
                await asyncio.sleep(0)  # so that it has begun before the next request does
            else:
                await asyncio.wait({task})

    def _begin(self, waiting: Waiting) -> asyncio.Task[None]:
        waiting.task = asyncio.create_task(self._answer(waiting), name=waiting.request.command)
        self._tasks.add(waiting.task)

        def finished(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            self._under_way.pop(waiting.message["seq"], None)
            if task.cancelled():  # perhaps before the request had begun
                self._connection.refuse_cancelled(waiting.message)

        waiting.task.add_done_callback(finished)
        return waiting.task

    def _cancel(self, seq: int) -> None:
        """The client takes back its request ``seq``.

        A request that is answered already stays answered. One under way ends only if it may be left half done.
        """
        waiting = self._under_way.get(seq)
        if waiting is None:
            return
        if waiting.task is not None:
            if waiting.request.looks:
                waiting.task.cancel()
            return
        waiting.cancelled = True
        del self._under_way[seq]
        self._connection.refuse_cancelled(waiting.message)

    # -- answers --------------------------------------------------------------------------------

    async def _answer(self, waiting: Waiting) -> None:
        message, row = waiting.message, waiting.request
        try:
            await self._answer_at_its_time(message, row)
        except Elsewhere as other:
            await self._hand_on(message, other.address)
            return
        except DualdbgError as error:
            self._connection.refuse(message, error, show=row.command in ("launch", "attach"))
        except Exception:
            self._connection.refuse(message, internal_error())
        if row.command == "disconnect":
            self._adapter.finish()

    async def _answer_at_its_time(self, message: dap.Message, row: Request) -> None:
        adapter = self._adapter
        stage = adapter.debuggee.stage
        arguments = Arguments(row.command, message.get("arguments"))
        of_core = OF_POST_MORTEM.get(row.command) if stage is Stage.POST_MORTEM else None
        if of_core is not None:
            self._connection.respond(message, await of_core(adapter, arguments))
        elif stage not in row.stages and not (stage is Stage.POST_MORTEM and row.looks):
            raise wrong_time(row.command, stage)
        elif row.resumes:
            async with adapter.pump.quiet:
                epoch = adapter.session.epoch + 1
                # An answer to continue tells that all threads run, one to a step that its thread does.
                if row.command == "continue" or others_stand(adapter):
                    adapter.pump.implied.add(epoch)
                try:
                    self._connection.respond(message, await row.answer(adapter, arguments))
                except BaseException:
                    adapter.pump.implied.discard(epoch)  # it has not gone on
                    raise
        else:
            self._connection.respond(message, await row.answer(adapter, arguments))

    async def _hand_on(self, message: dap.Message, address: tuple[str, int]) -> None:
        """From this request on the adapter at ``address`` serves the client."""
        adapter = self._adapter
        try:
            self._relay = relay = await Relay.begin(self._connection, address, adapter.client.hello, message)
        except DualdbgError as error:
            self._connection.refuse(message, error, show=True)
            return
        adapter.end_session = relay.close

        async def run() -> None:
            await relay.run()
            adapter.finish()

        adapter.background(run())
