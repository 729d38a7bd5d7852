"""Hears from the code that was put into the target: that it has begun, or why it could not."""

from __future__ import annotations

import asyncio
import json
import secrets
from dataclasses import dataclass

_LONGEST_LINE = 1 << 20


@dataclass(frozen=True)
class Word:
    """What the target said: ``state`` is ``started`` or ``failed``, ``text`` a traceback."""

    state: str
    text: str


class ControlChannel:
    """A port for one line at a time, from whoever knows the token."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._server: asyncio.base_events.Server | None = None
        self.words: asyncio.Queue[Word] = asyncio.Queue()

    async def listen(self, host: str) -> int:
        """The port on which the target may speak."""
        self._server = await asyncio.start_server(self._serve, host, 0, limit=_LONGEST_LINE)
        return int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = json.loads(await reader.readline())
            if secrets.compare_digest(str(line["token"]), self._token):
                self.words.put_nowait(Word(str(line["state"]), str(line["text"])))
        except (OSError, ValueError, KeyError, TypeError):
            pass  # a stranger at the port
        finally:
            writer.close()
