"""The program's output, shown on the terminal that it would have gone to and told to somebody else too."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
from collections.abc import Awaitable, Callable

_CHUNK = 1 << 16  # bytes; the size of a pipe (pipe(7))
_STREAMS = {"stdout": 1, "stderr": 2}


class CopiedOutput:
    """Two pipes, made before the program starts; ``write_ends`` are for it.

    ``tell`` gets each piece and the name of its stream. ``room`` is awaited before the next one is read: where the
    listener is slow, the program waits as it would for a slow terminal.
    """

    def __init__(self, tell: Callable[[str, str], None], room: Callable[[], Awaitable[None]]) -> None:
        self._tell, self._room = tell, room
        self.write_ends: dict[str, int] = {}
        self._read_ends: dict[str, int] = {}
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in _STREAMS}
        for name in _STREAMS:
            self._read_ends[name], self.write_ends[name] = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(self._read_ends[name], False)
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """The program has its ends: ours are closed, and what it writes is read."""
        self._close(self.write_ends)
        for name in self._read_ends:
            self._wait_for(name)

    def finish(self) -> None:
        """Tell what was written until now. A child of the program that still writes gets SIGPIPE after that."""
        for name in list(self._read_ends):
            while self._read(name):
                pass
        self.close()

    def close(self) -> None:
        """Nothing is read any more."""
        for descriptor in self._read_ends.values():
            asyncio.get_running_loop().remove_reader(descriptor)
        for task in self._tasks:
            task.cancel()
        self._close(self.write_ends)
        self._close(self._read_ends)

    def _wait_for(self, name: str) -> None:
        if name in self._read_ends:
            asyncio.get_running_loop().add_reader(self._read_ends[name], self._ready, name)

    def _ready(self, name: str) -> None:
        asyncio.get_running_loop().remove_reader(self._read_ends[name])
        if self._read(name):
            task = asyncio.create_task(self._go_on(name))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _go_on(self, name: str) -> None:
        with contextlib.suppress(OSError):  # the listener is gone: the terminal still shows it
            await self._room()
        self._wait_for(name)

    def _read(self, name: str) -> bool:
        """Show and tell one piece; False where nothing more was there."""
        try:
            data = os.read(self._read_ends[name], _CHUNK)
        except BlockingIOError:
            return False
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(_STREAMS[name], rest) :]
        except OSError:
            pass  # the terminal was closed, which ends the program in its own way
        text = self._decoders[name].decode(data, final=not data)
        if text:
            self._tell(name, text)
        return bool(data)

    @staticmethod
    def _close(descriptors: dict[str, int]) -> None:
        for descriptor in descriptors.values():
            os.close(descriptor)
        descriptors.clear()
