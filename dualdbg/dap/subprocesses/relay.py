"""For a client that starts a new adapter for a child: hands its session on to the adapter that has the child."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from ...errors import DualdbgError, EngineLost, ProtocolError
from ...protocol import dap
from ..connection import Connection

_CHUNK = 1 << 16


class Elsewhere(DualdbgError):
    """Not an error: the adapter at ``address`` has what the request asks for."""

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(f"the session is served by {address[0]}:{address[1]}", "")
        self.address = address


class Relay:
    """The way between one client and the adapter that serves it; made by :meth:`begin`.

    Messages to the client get new numbers, because it has had answers from here; the client's numbers stay. A child's
    session sends no requests to its client, so no other number has to be translated.
    """

    def __init__(
        self, client: Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._client = client
        self._reader = reader
        self._writer = writer

    @classmethod
    async def begin(
        cls, client: Connection, address: tuple[str, int], hello: dict[str, Any], request: dap.Message
    ) -> Relay:
        """Introduce the client there as it did here (``hello``), and send its ``request``. Raises EngineLost."""
        try:
            reader, writer = await asyncio.open_connection(*address)
        except OSError as error:
            raise EngineLost(
                f"the adapter of the program, at {address[0]}:{address[1]}, cannot be reached: {error.strerror}",
                "start the program again",
            ) from error
        relay = cls(client, reader, writer)
        relay.send(dap.request(1, "initialize", hello))
        relay.send(request)
        return relay

    def send(self, message: dap.Message) -> None:
        """Send a message of the client."""
        self._writer.write(dap.encode(message))

    async def run(self) -> None:
        """Hand everything on to the client, except the answer to our introduction, until the other side closes."""
        decoder = dap.Decoder()
        introduced = False
        with contextlib.suppress(OSError, ProtocolError):
            while data := await self._reader.read(_CHUNK):
                for message in decoder.feed(data):
                    if not introduced and message.get("command") == "initialize":
                        introduced = True
                        continue
                    self._client.pass_on(message)

    async def close(self) -> None:
        """The client is gone."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
