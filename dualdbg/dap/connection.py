"""One client's connection: messages in and out, in order, and what to do with a client that does not read."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from ..backends.wirelog import WireLog
from ..errors import DualdbgError, EngineLost, ProtocolError
from ..protocol import dap

_CHUNK = 1 << 16
_MAXIMUM_MESSAGE = 16 << 20  # bytes; no request of DAP's comes near
# How much waits for a client that does not read: from the first bound on the program's output is left out (the
# target must not be slowed down, and our memory not filled), at the second the client counts as gone.
_OUTPUT_BOUND = 8 << 20
_CLIENT_BOUND = 64 << 20


class Connection:
    """Owns the two streams. ``closed`` is set when the client is gone, in whatever way."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, log: WireLog) -> None:
        self._reader = reader
        self._writer = writer
        self._log = log
        self._seq = 0
        self._waiting: dict[int, asyncio.Future[dap.Message]] = {}
        self._left_out = 0
        self.closed = asyncio.Event()

    # -- in -------------------------------------------------------------------------------------

    async def messages(self) -> AsyncIterator[dap.Message | ProtocolError]:
        """What the client sends until it is gone; a mistake in its framing is an item of its own."""
        decoder = dap.Decoder(_MAXIMUM_MESSAGE)
        gone = asyncio.ensure_future(self.closed.wait())
        try:
            while not self.closed.is_set():
                reading = asyncio.ensure_future(self._reader.read(_CHUNK))
                await asyncio.wait({reading, gone}, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    reading.cancel()
                    return
                data = reading.result()
                if not data:
                    return
                for item in decoder.feed_tolerantly(data):
                    if isinstance(item, ProtocolError):
                        self._log.received(f"({item.message})")
                    else:
                        self._log.received(json.dumps(item))
                    yield item
        except OSError:
            return  # reset by the client: gone like one that closed
        finally:
            gone.cancel()
            self.lost()

    def answered(self, message: dap.Message) -> None:
        """The client's answer to a request of ours; one that nobody waits for is passed over."""
        number = message.get("request_seq")
        future = self._waiting.pop(number, None) if isinstance(number, int) else None
        if future is not None and not future.done():
            future.set_result(message)

    # -- out ------------------------------------------------------------------------------------

    def event(self, name: str, body: dict[str, Any] | None = None) -> None:
        self._send({"type": "event", "event": name, **({} if body is None else {"body": body})})

    def output(self, category: str, text: str) -> None:
        """Text for the user; left out, and said so later, while a client that does not read has too much of it."""
        if self._waiting_bytes() > _OUTPUT_BOUND:
            self._left_out += len(text)
            return
        if self._left_out:
            self.event("output", {"category": "important", "output": _left_out(self._left_out)})
            self._left_out = 0
        self.event("output", {"category": category, "output": text})

    def respond(self, request: dap.Message, body: dict[str, Any] | None = None) -> None:
        self._send(
            {
                "type": "response",
                "request_seq": _number(request.get("seq")),
                "command": _command(request),
                "success": True,
                **({} if body is None else {"body": body}),
            }
        )

    def refuse(self, request: dap.Message, error: DualdbgError, *, show: bool = False) -> None:
        """An error response. ``show``: the client may put it before the user's eyes.

        What has no number of its own cannot be responded to: the client's mistake is told as output then.
        """
        text = f"{error.message} ({error.hint})" if error.hint else error.message
        if _number(request.get("seq")) < 1:
            self.event("output", {"category": "important", "output": f"dualdbg: {text}\n"})
            return
        self._send(
            {
                "type": "response",
                "request_seq": _number(request.get("seq")),
                "command": _command(request),
                "success": False,
                "message": text,
                "body": {
                    "error": {
                        "id": 1,
                        # Clients replace {names} in the format; the text itself may hold braces.
                        "format": "{text}",
                        "variables": {"text": text},
                        "showUser": show,
                    }
                },
            }
        )

    def refuse_cancelled(self, request: dap.Message) -> None:
        """The response to a request that the client took back; ``cancelled`` is the word of the specification."""
        self._send(
            {
                "type": "response",
                "request_seq": _number(request.get("seq")),
                "command": _command(request),
                "success": False,
                "message": "cancelled",
                "body": {},  # the schema has one in every refusal
            }
        )

    async def ask(self, command: str, arguments: dict[str, Any], deadline: float) -> dict[str, Any]:
        """A request of ours to the client; returns the body of its answer.

        Raises EngineLost when the client refuses, does not answer within ``deadline`` seconds, or is gone.
        """
        future: asyncio.Future[dap.Message] = asyncio.get_running_loop().create_future()
        self._waiting[self._send(dap.request(0, command, arguments))] = future
        try:
            answer = await asyncio.wait_for(future, deadline)
        except asyncio.TimeoutError:
            raise EngineLost(f"the editor did not answer {command} within {deadline:g} s") from None
        if not answer.get("success"):
            raise EngineLost(f"the editor refused {command}: {answer.get('message') or 'it gave no reason'}")
        body = answer.get("body")
        return body if isinstance(body, dict) else {}

    def pass_on(self, message: dap.Message) -> None:
        """A message of another adapter's to the client, under a number of ours."""
        self._send(dict(message))

    def _send(self, message: dap.Message) -> int:
        self._seq += 1
        message["seq"] = self._seq
        if self.closed.is_set() or self._writer.is_closing():
            return self._seq
        self._log.sent(json.dumps(message))
        self._writer.write(dap.encode(message))
        if self._waiting_bytes() > _CLIENT_BOUND:
            self._log.sent("(the client does not read: the connection is given up)")
            self._writer.transport.abort()
            self.lost()
        return self._seq

    def _waiting_bytes(self) -> int:
        return self._writer.transport.get_write_buffer_size()

    # -- the end --------------------------------------------------------------------------------

    def lost(self) -> None:
        """The client is gone: who waits for its answers hears of it."""
        self.closed.set()
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(EngineLost("the editor closed the connection"))
                future.exception()

    async def close(self, grace: float = 2.0) -> None:
        """Send what is left, as long as the client reads it, and close."""
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(self._writer.drain(), grace)
        self.lost()
        self._writer.close()
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(self._writer.wait_closed(), grace)
        self._log.close()


def _left_out(count: int) -> str:
    return f"\n({count} characters of output were left out: the editor did not read them)\n"


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _command(request: dap.Message) -> str:
    command = request.get("command")
    return command if isinstance(command, str) else ""
