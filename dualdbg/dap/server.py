"""Where clients come from: standard input and output of an editor's child process, or a listening socket."""

from __future__ import annotations

import asyncio
import errno
import signal
import sys
import time
from collections.abc import Callable
from socket import AF_INET, AF_INET6

from ..backends.wirelog import WireLog
from ..errors import UsageError
from ..session.start import StartedTarget
from ..system.program_client import open_pipes, until_signalled
from ..target.peers import PeerGone, is_loopback
from .admission import Gate, trouble_with_peer
from .connection import Connection
from .offer import Offer
from .presentation.bodies import exit_code
from .request_loop import RequestLoop

LOOPBACK = "127.0.0.1"


async def serve_stdio(offer: Offer) -> signal.Signals | None:
    """Serve the one client that started this process, until it is gone; returns the signal that ended this, if any.

    Raises UsageError when standard input or output is a file or the like, so that no editor can be at the other end.
    """
    pipes = await open_pipes(
        "dap: standard input and output are not pipes or sockets: no editor is at the other end",
        "an editor starts dualdbg dap by itself; by hand: dualdbg dap --listen PORT",
    )
    try:
        return await until_signalled(serve(pipes.reader, pipes.writer, offer))
    finally:
        await pipes.close()


async def serve_socket(
    host: str, port: int, offer: Offer, ready: Callable[[str, int], None]
) -> signal.Signals | None:
    """Serve clients on a port until a signal comes, which is returned; with a program, until the program has ended.

    ``ready`` is called with the address once it listens. Raises UsageError when the port cannot be had, or could be
    reached from elsewhere without a secret.
    """
    over = asyncio.Event()
    tasks: set[asyncio.Task[None]] = set()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer, offer)
        if offer.program_done:
            over.set()
        elif offer.running is not None and not offer.taken:
            await let_run(offer.running)

    async def let_run(program: StartedTarget) -> None:
        """Nobody debugs the program; wait for its end, unless it is attached to again: then that client sees it."""
        exit = await program.wait()
        if offer.running is not program:  # it was ended to be started again
            return
        offer.program_done = True
        if not offer.taken:
            offer.exit_code = exit_code(exit.code, exit.signal)
            over.set()

    def arrived(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Our own task: the one that asyncio makes would print a traceback when it is cancelled (3.11, streams.py).
        task = asyncio.create_task(client(reader, writer), name="client")
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    try:
        server = await asyncio.start_server(arrived, host, port, start_serving=False)
    except (OSError, OverflowError) as error:
        raise UsageError(
            _why_not_listening(host, port, error), "choose another port, or 0 for a free one"
        ) from error
    _check_addresses(server, offer)
    await server.start_serving()
    address = server.sockets[0].getsockname()
    offer.address = str(address[0]), int(address[1])
    ready(*offer.address)
    try:
        return await until_signalled(over.wait())
    finally:
        offer.closing = True
        server.close()
        ending = list(tasks)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        if offer.running is not None:
            offer.running.kill()


def _why_not_listening(host: str, port: int, error: Exception) -> str:
    reasons = {errno.EADDRINUSE: "it is in use", errno.EACCES: "that takes more permission"}
    number = error.errno if isinstance(error, OSError) else None
    reason = reasons.get(number or 0) or (error.strerror if isinstance(error, OSError) else str(error))
    return f"dap: cannot listen on {host}:{port}: {reason}"


def _check_addresses(server: asyncio.base_events.Server, offer: Offer) -> None:
    """Raises UsageError when other machines could connect without a secret."""
    open_to_others = [one.getsockname()[0] for one in server.sockets if not is_loopback(one.getsockname()[0])]
    if open_to_others and offer.secret is None:
        server.close()
        raise UsageError(
            f"dap: whoever reaches {open_to_others[0]} could run programs here",
            "listen on loopback and come by ssh -L, or give --secret-file FILE",
        )


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, offer: Offer) -> None:
    """Serve one client, until it is gone."""
    connection = writer.get_extra_info("socket")
    if offer.secret is None and connection is not None and connection.family in (AF_INET, AF_INET6):
        try:
            trouble = trouble_with_peer(connection)
        except PeerGone:
            writer.close()
            return
        if trouble:
            _say_turned_away(trouble)
            writer.close()
            return
    offer.clients += 1
    name = "editor" if offer.clients == 1 else f"editor-{offer.clients}"
    gate = Gate(offer.secret, offer.children, only_children=offer.only_children)
    log = WireLog(offer.log_dir, name, time.monotonic())
    client = Connection(reader, writer, log, gate)
    offer.receive(client)
    await RequestLoop(client, offer, serve).run()
    if client.turned_away and not offer.only_children:
        _say_turned_away(client.turned_away)


def _say_turned_away(why: str) -> None:
    print(f"dualdbg: a client was turned away: {why}", file=sys.stderr, flush=True)
