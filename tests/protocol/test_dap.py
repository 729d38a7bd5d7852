"""DAP framing: whole messages out of any pieces of the stream."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
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
        dap.Decoder().feed(stream)


def test_header_names_are_case_insensitive_and_others_are_passed_over() -> None:
    body = b'{"type":"event"}'
    stream = b"content-length: %d\r\nContent-Type: x\r\n\r\n%s" % (len(body), body)
    assert dap.Decoder().feed(stream) == [{"type": "event"}]
