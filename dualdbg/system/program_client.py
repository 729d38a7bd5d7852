"""Serves a program that has started us: on our standard input and output, until it is gone or a signal comes."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from collections.abc import Coroutine
from dataclasses import dataclass

from ..errors import UsageError
from . import afterwards


@dataclass(frozen=True)
class Pipes:
    """What the client writes, and where it reads. No other output of this process gets there."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    coming: asyncio.BaseTransport

    async def close(self) -> None:
        """Read no more. The client may leave its end open; what is closed is so at the loop's next turn."""
        self.coming.close()
        await asyncio.sleep(0)


async def open_pipes(refusal: str, hint: str, most: int = 1 << 16) -> Pipes:
    """Take standard input and output for the client. A line of it has at most ``most`` bytes.

    Raises UsageError with ``refusal`` and ``hint`` where they are a file or the like: no client is at the other end.
    """
    reading, writing = _take_streams()
    os.dup(reading)  # kept until this process ends: a client that says one thing more must not get EPIPE
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=most)
    try:
        _require_pipes(reading, writing)
        coming, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", 0)
        )
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(writing, "wb", 0)
        )
    except ValueError:
        raise UsageError(refusal, hint) from None
    return Pipes(reader, asyncio.StreamWriter(transport, protocol, reader, loop), coming)


def _take_streams() -> tuple[int, int]:
    """Our standard input and output, on other descriptors: other output must not get into the protocol."""
    reading, writing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return reading, writing


def _require_pipes(*descriptors: int) -> None:
    """Raises ValueError for what cannot be waited for: a file, /dev/null. The event loop would say so too late."""
    with select.epoll() as poll:
        for descriptor in descriptors:
            try:
                poll.register(descriptor, 0)
            except PermissionError as error:
                raise ValueError(error.strerror) from error


async def until_signalled(work: Coroutine[object, object, object]) -> signal.Signals | None:
    """Run ``work``; SIGTERM, SIGHUP and SIGINT end it in good order: the target is let go of first.

    Returns the first signal that came before the end of ``work``.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    came: list[signal.Signals] = []

    def end(number: signal.Signals) -> None:
        if task.cancel():
            came.append(number)
            afterwards.end_us_at_last(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        loop.add_signal_handler(number, end, number)
    try:
        await task
    except asyncio.CancelledError:
        if not came:
            raise
        sys.stderr.flush()
    return came[0] if came else None
