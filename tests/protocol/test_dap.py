"""DAP framing: whole messages out of any pieces of the stream."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dualdbg.errors import ProtocolError
from dualdbg.protocol import dap

_MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["request", "event", "response"]), "seq": st.integers(), "text": st.text()}
    ),
    max_size=5,
)


@given(_MESSAGES, st.lists(st.integers(1, 40), max_size=60))
def test_any_cut_of_the_stream_gives_the_same_messages(messages: list[Any], cuts: list[int]) -> None:
    stream = b"".join(map(dap.encode, messages))
    decoder = dap.Decoder()
    received: list[Any] = []
    for length in [*cuts, len(stream)]:
        piece, stream = stream[:length], stream[length:]
        received += decoder.feed(piece)
    received += decoder.feed(stream)
    assert received == messages


@pytest.mark.parametrize(
    "stream",
    [
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Other: 1\r\n\r\n",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 2\r\n\r\n{}",
        b"Content-Length: 3\r\n\r\n{,}",
        b"x" * 5000,
    ],
)
def test_what_is_not_dap_is_refused(stream: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(dap.Decoder().feed(stream))


def test_header_names_are_case_insensitive() -> None:
    body = b'{"type":"event"}'
    stream = b"content-length: %d\r\nContent-Type: x\r\n\r\n%s" % (len(body), body)
    assert list(dap.Decoder().feed(stream)) == [{"type": "event"}]


MESSAGE = dap.encode({"type": "event"})


@given(st.binary(min_size=1, max_size=40), st.integers(0, 3))
def test_after_the_first_error_nothing_is_heard(noise: bytes, before: int) -> None:
    """Whatever stands between messages, none behind it is found: there is no way back into the stream."""
    decoder = dap.Decoder()
    heard = []
    with contextlib.suppress(ProtocolError):
        for message in decoder.feed(MESSAGE * before + noise + MESSAGE * 40):
            heard.append(message)
        assume(False)  # the noise was the beginning of a message that has not ended
    assert len(heard) in (before, before + 1)  # noise that is a header makes one body of what follows
    for _ in range(2):
        with pytest.raises(ProtocolError):
            list(decoder.feed(MESSAGE))


@pytest.mark.parametrize(
    ("stream", "who"),
    [
        (b"GET / HTTP/1.1\r\n", "an HTTP client"),
        (b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(MESSAGE) + MESSAGE, "an HTTP client"),
        (b"OPTIONS * HTTP/1.1\r\n", "an HTTP client"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "an HTTP client"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "a TLS client"),
    ],
)
def test_other_protocols_are_known_by_their_first_bytes(stream: bytes, who: str) -> None:
    with pytest.raises(dap.Stranger, match=who) as caught:
        list(dap.Decoder().feed(stream))
    assert caught.value.reply.startswith(b"HTTP/1.1 400 ") or who == "a TLS client"


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 16\r\nContent-Length: 16",
        b"Content-Length: 16\r\nHost: x",
        b"Content-Length : 16",
        b"Content-Length: +16",
        b"Content-Length: 0x10",
        b"Content-Length: \xd9\xa1",
        b"Content-Type: " + b"x" * 2000,
    ],
)
def test_headers_that_two_readers_could_understand_differently(header: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(dap.Decoder().feed(header + b"\r\n\r\n" + b'{"type":"event"}'))


def test_what_is_kept_is_bounded() -> None:
    decoder = dap.Decoder(1000)
    with pytest.raises(ProtocolError, match="length"):
        list(decoder.feed(b"Content-Length: 1001\r\n\r\n"))
    for _ in range(100):
        with pytest.raises(ProtocolError):
            list(decoder.feed(b"x" * 100_000))
    assert sum(map(sys.getsizeof, vars(decoder).values())) < 10_000
