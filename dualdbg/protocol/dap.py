"""Debug Adapter Protocol: framing and message shapes (no I/O).

The specification is at https://microsoft.github.io/debug-adapter-protocol/ (base protocol: a Content-Length header,
a blank line, and that many bytes of JSON).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import ProtocolError

Message = dict[str, Any]

_MAXIMUM_HEADER = 1024
_MAXIMUM_BODY = 1 << 28
# The first is in the base protocol; clients of the Language Server Protocol add the second.
_FIELDS = (b"content-length", b"content-type")
_HTTP = re.compile(rb"[A-Z]{3,16} ")
_TLS = b"\x16\x03"  # a handshake record (RFC 8446, 5.1)


class Stranger(ProtocolError):
    """The other side speaks another protocol. ``reply`` is a refusal in that protocol, or empty."""

    def __init__(self, message: str, reply: bytes = b"") -> None:
        super().__init__(message)
        self.reply = reply


def encode(message: Message) -> bytes:
    """One message as it goes over the wire, header and body in one piece."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")  # lone surrogates stay unchanged
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def request(seq: int, command: str, arguments: Mapping[str, Any] | None = None) -> Message:
    """A request message; ``seq`` is its number."""
    message: Message = {"seq": seq, "type": "request", "command": command}
    if arguments is not None:
        message["arguments"] = arguments
    return message


class Decoder:
    """Bytes in, whole messages out; keeps what is incomplete for the next time. ``maximum`` bounds a body, in bytes.

    The stream has no marks at which a reader could start again, so after the first error nothing more is read.
    """

    def __init__(self, maximum: int = _MAXIMUM_BODY) -> None:
        self.maximum = maximum
        self._buffer = bytearray()
        self._length: int | None = None
        self._error: ProtocolError | None = None

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are complete now; after them ProtocolError, in each later call too, if no DAP follows."""
        if self._error is None:
            self._buffer += data
        return self._messages()

    def _messages(self) -> Iterator[Message]:
        while self._error is None:
            try:
                message = self._next()
            except ProtocolError as error:
                self._error = error
                self._buffer.clear()
                break
            if message is None:
                return
            yield message
        if self._error is not None:
            raise self._error

    def _next(self) -> Message | None:
        if self._length is None:
            _check_beginning(bytes(self._buffer[: max(map(len, _FIELDS)) + 4]))
            end = self._buffer.find(b"\r\n\r\n", 0, _MAXIMUM_HEADER)
            if end < 0:
                if len(self._buffer) >= _MAXIMUM_HEADER:
                    raise ProtocolError(f"a DAP header of more than {_MAXIMUM_HEADER} bytes")
                return None
            self._length = self._read_header(bytes(self._buffer[:end]))
            del self._buffer[: end + 4]
        if len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return _read_body(body)

    def _read_header(self, header: bytes) -> int:
        fields: dict[bytes, bytes] = {}
        for line in header.split(b"\r\n"):
            name, colon, value = line.partition(b":")
            name = name.lower()
            if not colon or name not in _FIELDS or name in fields:
                raise ProtocolError(f"a DAP header with the line {_shown(line[:100])}")
            fields[name] = value.strip()
        digits = fields.get(_FIELDS[0])
        if digits is None:
            raise ProtocolError(f"a DAP header without Content-Length: {_shown(header[:100])}")
        if not digits.isdigit() or int(digits) > self.maximum:
            raise ProtocolError(f"a DAP message with the length {_shown(digits[:40])}")
        return int(digits)


def _shown(data: bytes) -> str:
    """What a client has sent, as text."""
    return repr(data.decode("latin-1"))


def _check_beginning(head: bytes) -> None:
    """Raises ProtocolError as soon as the first bytes of a message cannot be those of a header."""
    begun = head.lower()
    if any(begun[: len(field)] == field[: len(begun)] for field in _FIELDS):
        return
    if _HTTP.match(head):
        why = "this port speaks the Debug Adapter Protocol, not HTTP"
        raise Stranger("an HTTP client, such as a web browser", f"HTTP/1.1 400 {why}\r\n\r\n".encode())
    if head.startswith(_TLS[: len(head)]):
        raise Stranger("a TLS client, such as a web browser")
    raise ProtocolError(f"a DAP message that begins with {_shown(head)}")


def _read_body(body: bytes) -> Message:
    try:
        message = json.loads(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a DAP message that is not JSON: {error}") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError("a DAP message without a type")
    return message
