"""The target's stdout and stderr as pipes, read in bounded pieces: for front ends whose own stdout is data."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable, Coroutine
from typing import Any

from ..model import Output
from ..system.locale_encoding import new_decoder

_CHUNK = 1 << 16  # bytes; the size of a pipe (pipe(7))


class OutputPipes:
    """Made before the target starts; ``write_ends`` are for it. What it writes becomes Output events.

    Where ``room`` gives something to wait for, nothing more is read until then: the target waits as it would for a
    slow terminal.
    """

    def __init__(
        self,
        show: Callable[[Output], None],
        room: Callable[[], Coroutine[Any, Any, None] | None] = lambda: None,
    ) -> None:
        self._show, self._room = show, room
        self._waiting: set[asyncio.Task[None]] = set()
        self._readers: dict[int, tuple[str, codecs.IncrementalDecoder]] = {}
        self.write_ends: dict[str, int] = {}
        for stream in ("stdout", "stderr"):
            reading, writing = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(reading, False)
            self.write_ends[stream] = writing
            self._readers[reading] = stream, new_decoder()
            asyncio.get_running_loop().add_reader(reading, self._ready, reading)

    def close_write_ends(self) -> None:
        """Close our copies once the target has its own."""
        for descriptor in self.write_ends.values():
            os.close(descriptor)
        self.write_ends.clear()

    def drain(self) -> None:
        """Show what was written until now, at most what the pipes hold: the loop reads the rest."""
        for descriptor in list(self._readers):
            self._read(descriptor)

    def close(self) -> None:
        """The target is gone; a child of it that still writes gets SIGPIPE."""
        self.close_write_ends()
        for task in self._waiting:
            task.cancel()
        for descriptor in list(self._readers):
            while self._read(descriptor):
                pass
            self._close(descriptor)

    def _ready(self, descriptor: int) -> None:
        if not self._read(descriptor):
            return
        room = self._room()
        if room is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            task = asyncio.create_task(self._go_on(descriptor, room))
            # A task that is cancelled before it begins does not close what it was to await.
            task.add_done_callback(lambda _: room.close())
            self._waiting.add(task)
            task.add_done_callback(self._waiting.discard)

    async def _go_on(self, descriptor: int, room: Coroutine[Any, Any, None]) -> None:
        await room
        if descriptor in self._readers:
            asyncio.get_running_loop().add_reader(descriptor, self._ready, descriptor)

    def _read(self, descriptor: int) -> bool:
        """Show one piece; False when nothing was there."""
        if descriptor not in self._readers:
            return False
        stream, decoder = self._readers[descriptor]
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        text = decoder.decode(data, final=not data)
        if text:
            self._show(Output(stream, text))
        if not data:
            self._close(descriptor)
        return bool(data)

    def _close(self, descriptor: int) -> None:
        if self._readers.pop(descriptor, None) is None:
            return
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)
