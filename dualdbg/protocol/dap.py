"""Debug Adapter Protocol: framing and message shapes (no I/O).

The specification is at https://microsoft.github.io/debug-adapter-protocol/ (base protocol: a Content-Length header,
a blank line, and that many bytes of JSON).
"""

from __future__ import annotations

import json
from typing import Any

from ..errors import ProtocolError

Message = dict[str, Any]

_MAXIMUM_HEADER = 4096
_LENGTH_FIELD = b"content-length:"


def encode(message: Message) -> bytes:
    """One message as it goes over the wire, header and body in one piece."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")  # lone surrogates stay what they are
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def request(seq: int, command: str, arguments: dict[str, Any] | None = None) -> Message:
    message: Message = {"seq": seq, "type": "request", "command": command}
    if arguments is not None:
        message["arguments"] = arguments
    return message


class Decoder:
    """Bytes in, whole messages out; keeps what is incomplete for the next time."""

    def __init__(self, maximum: int = 1 << 30) -> None:
        self._buffer = bytearray()
        self._length: int | None = None
        self._maximum = maximum

    def feed(self, data: bytes) -> list[Message]:
        """The messages that are complete now. Raises ProtocolError for a header or a body that is not DAP."""
        items = self.feed_tolerantly(data)
        for item in items:
            if isinstance(item, ProtocolError):
                raise item
        return [item for item in items if not isinstance(item, ProtocolError)]

    def feed_tolerantly(self, data: bytes) -> list[Message | ProtocolError]:
        """The same for a peer whose mistakes are to be told and survived: each is one ProtocolError in its place.

        After a body that is no message the next header follows; after a header that is none, the next place that
        reads like the beginning of one.
        """
        self._buffer += data
        items: list[Message | ProtocolError] = []
        while True:
            try:
                message = self._next()
            except ProtocolError as error:
                items.append(error)
                continue
            if message is None:
                return items
            items.append(message)

    def _next(self) -> Message | None:
        if self._length is None:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _MAXIMUM_HEADER:
                    self._skip_to_header(1)
                    raise ProtocolError("a DAP header without an end")
                return None
            header = bytes(self._buffer[:end])
            try:
                self._length = self._read_header(header)
            except ProtocolError:
                self._skip_to_header(1)
                raise
            del self._buffer[: end + 4]
        if len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return _read_body(body)

    def _skip_to_header(self, start: int) -> None:
        at = self._buffer.lower().find(_LENGTH_FIELD, start)
        if at < 0:
            at = max(len(self._buffer) - len(_LENGTH_FIELD), start)  # it may have arrived in part
        del self._buffer[:at]

    def _read_header(self, header: bytes) -> int:
        for line in header.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                digits = value.strip()
                if not digits.isdigit() or int(digits) > self._maximum:
                    raise ProtocolError(f"a DAP message with the length {digits[:40]!r}")
                return int(digits)
        raise ProtocolError(f"a DAP header without Content-Length: {header[:100]!r}")


def _read_body(body: bytes) -> Message:
    try:
        message = json.loads(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a DAP message that is not JSON: {error}") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError("a DAP message without a type")
    return message
