"""The target's stdout and stderr as pipes, read in bounded pieces: for front ends whose own stdout is data."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable

from ..model import Output

_CHUNK = 1 << 16  # bytes; the size of a pipe (pipe(7))


class OutputPipes:
    """Made before the target starts; ``write_ends`` are for it. What it writes becomes Output events."""

    def __init__(self, show: Callable[[Output], None]) -> None:
        self._show = show
        self._readers: dict[int, tuple[str, codecs.IncrementalDecoder]] = {}
        self.write_ends: dict[str, int] = {}
        for stream in ("stdout", "stderr"):
            reading, writing = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(reading, False)
            self.write_ends[stream] = writing
            decoder = codecs.getincrementaldecoder("utf-8")("replace")
            self._readers[reading] = stream, decoder
            asyncio.get_running_loop().add_reader(reading, self._read, reading)

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
        for descriptor in list(self._readers):
            while self._read(descriptor):
                pass
            self._close(descriptor)

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
