"""One client's connection: messages in and out, in order, and the limits for a client that does not read."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any

from ..backends.wirelog import WireLog
from ..errors import DualdbgError, EngineLost, ProtocolError
from ..protocol import dap
from ..system.patience import patient
from ..system.waiting import abandon, settled
from .admission import ChildIsGone, Gate, NotAdmitted
from .client.wording import for_an_editor

_CHUNK = 1 << 16
_GRACE = patient(2.0)  # seconds for a client to take the last messages
# Bytes; no request of DAP is nearly as large. JSON may take twenty times as much memory when it is read.
_MAXIMUM_MESSAGE = 4 << 20
_MAXIMUM_BEFORE_ADMISSION = 1 << 20
# How much waits for a client, in bytes. Above the first bound the program waits with its output, as for a slow
# terminal, while the client reads at all. Above the second its output is left out: it must not fill our memory. At the
# third bound the client counts as gone.
_ENOUGH = 1 << 20
_OUTPUT_BOUND = 8 << 20
_CLIENT_BOUND = 64 << 20
# Seconds without a byte read, after which the program does not wait for the client any more.
_STALLED = patient(5.0)


class Connection:
    """Owns the two streams. ``closed`` is set when the client is gone, in whatever way.

    ``gate`` decides which messages of the client are heard. ``turned_away`` says why the client was not served to the
    end.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        log: WireLog,
        gate: Gate | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._log = log
        self.gate = gate or Gate()
        self.turned_away = ""
        self._seq = 0
        self._waiting: dict[int, asyncio.Future[dap.Message]] = {}
        self._left_out = 0
        self._stalled = False  # the client reads nothing
        self.closed = asyncio.Event()

    # -- in -------------------------------------------------------------------------------------

    async def messages(self) -> AsyncIterator[dap.Message]:
        """The client's messages until it is gone. A client that sends anything else is turned away."""
        decoder = dap.Decoder(_MAXIMUM_MESSAGE if self.gate.is_open else _MAXIMUM_BEFORE_ADMISSION)
        gone = asyncio.ensure_future(self.closed.wait())
        try:
            while not self.closed.is_set():
                reading = asyncio.ensure_future(self._reader.read(_CHUNK))
                try:
                    await asyncio.wait({reading, gone}, return_when=asyncio.FIRST_COMPLETED)
                    data = reading.result() if reading.done() else b""
                finally:
                    abandon(reading)
                if not data:
                    return
                for message in decoder.feed(data):
                    try:
                        admitted = self.gate.admit(message)
                    except NotAdmitted as error:
                        self.refuse(message, error, show=True)
                        self._turn_away(error.message)
                        return
                    if self.gate.is_open:
                        decoder.maximum = _MAXIMUM_MESSAGE
                    self._log.received(json.dumps(admitted))
                    yield admitted
        except dap.Stranger as error:
            self._writer.write(error.reply)
            self._turn_away(error.message)
        except ProtocolError as error:
            text = f"dualdbg: the editor sent {error.message}: the connection is closed\n"
            self.event("output", {"category": "important", "output": text})
            self._turn_away(error.message)
        except OSError:
            return  # reset by the client, which is gone, as after a close
        finally:
            gone.cancel()
            self.lost()

    def _turn_away(self, why: str) -> None:
        self._log.received(f"({why})")
        self.turned_away = why

    def answered(self, message: dap.Message) -> None:
        """Take the client's answer to our request; an answer that nobody waits for is dropped."""
        number = message.get("request_seq")
        future = self._waiting.pop(number, None) if isinstance(number, int) else None
        if future is not None and not future.done():
            future.set_result(message)

    # -- out ------------------------------------------------------------------------------------

    def event(self, name: str, body: Mapping[str, object] | None = None) -> None:
        """Send an event."""
        self._send({"type": "event", "event": name, **({} if body is None else {"body": body})})

    def output(self, category: str, text: str) -> None:
        """Text for the user. While too much waits for the client, it is left out, and the client is told so later."""
        if self._waiting_bytes() > _OUTPUT_BOUND:
            self._left_out += len(text)
            return
        if self._left_out:
            self.event("output", {"category": "important", "output": _left_out(self._left_out)})
            self._left_out = 0
        self.event("output", {"category": category, "output": text})

    def room(self) -> Coroutine[Any, Any, None] | None:
        """What to await before more output is sent: that a slow client reads. None where there is room."""
        waiting = self._waiting_bytes()
        if waiting <= _ENOUGH:
            self._stalled = False
        return self._until_read(waiting) if waiting > _ENOUGH and not self._stalled else None

    async def _until_read(self, waiting: int) -> None:
        while waiting > _ENOUGH // 2 and not self.closed.is_set():
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                await asyncio.wait_for(self._writer.drain(), _STALLED)
                return
            before, waiting = waiting, self._waiting_bytes()
            if waiting >= before:
                self._stalled = True
                return

    def respond(self, request: dap.Message, body: Mapping[str, object] | None = None) -> None:
        """Send the answer of a request that succeeded."""
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
        """An error response. ``show``: the client may put it before the user's eyes, if it is a mistake of theirs.

        A message without a number cannot be answered. Then the client's mistake is told as output.
        """
        text = f"{error.message} ({for_an_editor(error.hint)})" if error.hint else error.message
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
                        "showUser": show and not isinstance(error, ChildIsGone),
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

    async def ask(self, command: str, arguments: Mapping[str, Any], deadline: float) -> dict[str, Any]:
        """Send a request to the client; returns the body of its answer.

        Raises EngineLost when the client refuses, does not answer within ``deadline`` seconds, or is gone.
        """
        future: asyncio.Future[dap.Message] = asyncio.get_running_loop().create_future()
        self._waiting[self._send(dap.request(0, command, arguments))] = future
        try:
            answer = await settled(future, deadline)
        except asyncio.TimeoutError:
            raise EngineLost(f"the editor did not answer {command} within {deadline:g} s") from None
        if not answer.get("success"):
            raise EngineLost(f"the editor refused {command}: {answer.get('message') or 'it gave no reason'}")
        body = answer.get("body")
        return body if isinstance(body, dict) else {}

    def pass_on(self, message: dap.Message) -> None:
        """Pass a message of another adapter on to the client, with our own number."""
        self._send(dict(message))

    def _send(self, message: dap.Message) -> int:
        self._seq += 1
        message["seq"] = self._seq
        if self.closed.is_set() or self._writer.is_closing():
            return self._seq
        data = dap.encode(message)
        self._log.sent(data.partition(b"\r\n\r\n")[2].decode("ascii"))
        self._writer.write(data)
        if self._waiting_bytes() > _CLIENT_BOUND:
            self._log.sent("(the client does not read: the connection is given up)")
            self._writer.transport.abort()
            self.lost()
        return self._seq

    def _waiting_bytes(self) -> int:
        return self._writer.transport.get_write_buffer_size()

    # -- the end --------------------------------------------------------------------------------

    def lost(self) -> None:
        """The client is gone: requests that wait for its answers fail."""
        self.closed.set()
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(EngineLost("the editor closed the connection"))
                future.exception()

    async def close(self, grace: float = _GRACE) -> None:
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
