"""Where clients come from: standard input and output of an editor's child process, or a listening socket."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

from ..backends.wirelog import WireLog
from ..errors import UsageError
from .adapter import Adapter
from .connection import Connection
from .offer import Offer

LOOPBACK = "127.0.0.1"


async def serve_stdio(offer: Offer) -> None:
    """Serve the one client that started this process, until it is gone.

    Raises UsageError when nobody who speaks the protocol can be at the other end.
    """
    reading, writing = _take_streams()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    try:
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", 0)
        )
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(writing, "wb", 0)
        )
    except ValueError:
        raise UsageError(
            "dap: standard input and output are not pipes or sockets: no editor is at the other end",
            "an editor starts dualdbg dap by itself; by hand: dualdbg dap --listen PORT",
        ) from None
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    await _until_signalled(serve(reader, writer, offer))


def _take_streams() -> tuple[int, int]:
    """Our standard input and output, on other numbers: whatever else prints must not land in the protocol."""
    reading, writing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return reading, writing


async def serve_socket(host: str, port: int, offer: Offer, ready: Callable[[str, int], None]) -> None:
    """Serve clients on a port until the process is told to end; with a program, until that has ended.

    ``ready`` is called with the address once it listens. Raises UsageError when the port cannot be had.
    """
    over = asyncio.Event()
    tasks: set[asyncio.Task[None]] = set()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer, offer)
        if offer.program_done:
            over.set()

    def arrived(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task of our own: asyncio's would print a traceback when it is cancelled (3.11, streams.py).
        task = asyncio.create_task(client(reader, writer), name="client")
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    try:
        server = await asyncio.start_server(arrived, host, port)
    except (OSError, OverflowError) as error:
        raise UsageError(
            _why_not_listening(host, port, error), "choose another port, or 0 for a free one"
        ) from error
    address = server.sockets[0].getsockname()
    offer.address = str(address[0]), int(address[1])
    ready(*offer.address)
    try:
        await _until_signalled(over.wait())
    finally:
        server.close()
        ending = list(tasks)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)


def _why_not_listening(host: str, port: int, error: Exception) -> str:
    reasons = {errno.EADDRINUSE: "it is in use", errno.EACCES: "that takes more permission"}
    number = error.errno if isinstance(error, OSError) else None
    reason = reasons.get(number or 0) or (error.strerror if isinstance(error, OSError) else str(error))
    return f"dap: cannot listen on {host}:{port}: {reason}"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, offer: Offer) -> None:
    """Serve one client, until it is gone."""
    offer.clients += 1
    name = "editor" if offer.clients == 1 else f"editor-{offer.clients}"
    connection = Connection(reader, writer, WireLog(offer.log_dir, name, time.monotonic()))
    await Adapter(connection, offer).serve()


async def _until_signalled(work: Coroutine[Any, Any, object]) -> None:
    """Run ``work``; SIGTERM, SIGHUP and SIGINT end it in good order: the target is let go of first."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        sys.stderr.flush()
