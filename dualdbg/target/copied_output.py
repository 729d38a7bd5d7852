"""The program's output, shown on the terminal that it would have gone to and told to somebody else too."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
from collections.abc import Awaitable, Callable

from ..system.locale_encoding import new_decoder

_PIPE = 1 << 16  # bytes that a pipe holds (pipe(7))
_CHUNK = 1 << 13  # bytes; what they become in JSON is a line that the listener reads whole
_PIECES = 4  # of one stream, before the other has its turn within a line
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
        self._decoders = {name: new_decoder() for name in _STREAMS}
        for name in _STREAMS:
            self._read_ends[name], self.write_ends[name] = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(self._read_ends[name], False)
        self._ready = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._finishing = False

    def begin(self) -> None:
        """The program has its ends: ours are closed, and what it writes is read."""
        self._close(self.write_ends)
        self._task = asyncio.create_task(self._copy())

    async def finish(self) -> None:
        """Tell what was written until now. A child of the program that still writes gets SIGPIPE after that."""
        self._finishing = True
        self._ready.set()
        if self._task is not None:
            await self._task
        for name in list(self._read_ends):
            for _ in range(_PIPE // _CHUNK):
                data = self._take(name)
                if not data:
                    break
                await self._pass_on(name, data)
        self.close()

    def close(self) -> None:
        """Nothing is read any more."""
        self._stop_watching()
        if self._task is not None:
            self._task.cancel()
        self._close(self.write_ends)
        self._close(self._read_ends)

    async def _copy(self) -> None:
        """One piece after the other. What follows a piece without the end of a line comes before the other stream's."""
        open_ends = dict(self._read_ends)
        while open_ends and not self._finishing:
            for descriptor in open_ends.values():
                asyncio.get_running_loop().add_reader(descriptor, self._ready.set)
            await self._ready.wait()
            self._stop_watching()
            self._ready.clear()
            for name in list(open_ends):
                for _ in range(_PIECES):
                    data = self._take(name)
                    if data:
                        await self._pass_on(name, data)
                        # Where the listener is gone, the terminal still shows it.
                        with contextlib.suppress(OSError):
                            await self._room()
                    elif data is not None:
                        del open_ends[name]
                    if not data or data.endswith(b"\n") or self._finishing:
                        break

    def _stop_watching(self) -> None:
        for descriptor in self._read_ends.values():
            asyncio.get_running_loop().remove_reader(descriptor)

    def _take(self, name: str) -> bytes | None:
        """One piece; an empty one at the end, None where nothing more is there yet."""
        try:
            return os.read(self._read_ends[name], _CHUNK)
        except BlockingIOError:
            return None

    async def _pass_on(self, name: str, data: bytes) -> None:
        """Show and tell a piece. A terminal may make us wait, by Ctrl-S: orders of the session are obeyed meanwhile."""
        await asyncio.get_running_loop().run_in_executor(None, _show, _STREAMS[name], data)
        text = self._decoders[name].decode(data)
        if text:
            self._tell(name, text)

    @staticmethod
    def _close(descriptors: dict[str, int]) -> None:
        for descriptor in descriptors.values():
            os.close(descriptor)
        descriptors.clear()


def _show(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # the program has set that for the terminal, which it shares with us
            select.select([], [descriptor], [])
        except OSError:
            return  # the terminal was closed, which ends the program in its own way
