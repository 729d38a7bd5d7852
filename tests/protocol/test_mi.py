"""GDB/MI lines become records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualdbg.errors import ProtocolError
from dualdbg.protocol import mi


def test_result_with_token() -> None:
    record = mi.parse_line('12^done,bkpt={number="1",addr="0x10"}')
    assert record == mi.Result(12, "done", {"bkpt": {"number": "1", "addr": "0x10"}})


def test_error_keeps_gdbs_words() -> None:
    record = mi.parse_line('3^error,msg="No symbol table is loaded.  Use the \\"file\\" command."')
    assert isinstance(record, mi.Result)
    assert record.payload["msg"] == 'No symbol table is loaded.  Use the "file" command.'


def test_stopped() -> None:
    record = mi.parse_line('*stopped,reason="solib-event",added=[library="/a.so",library="/b.so"]')
    assert isinstance(record, mi.Async)
    assert record.kind == "stopped"
    assert record.payload["added"] == ["/a.so", "/b.so"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('~"two\\nlines\\t\\"quoted\\""', 'two\nlines\t"quoted"'),
        ('&"octal \\303\\251"', "octal é"),
        ('@"plain"', "plain"),
        ('~""', ""),
    ],
)
def test_streams(line: str, text: str) -> None:
    record = mi.parse_line(line)
    assert isinstance(record, mi.Stream)
    assert record.text == text


def test_prompt_and_blank() -> None:
    assert mi.parse_line("(gdb) ") == mi.Prompt()
    assert mi.parse_line("\r\n") is None


def test_a_line_that_is_not_mi_is_refused() -> None:
    with pytest.raises(ProtocolError, match="not MI"):
        mi.parse_line("Segmentation fault")


@given(st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=("Cs",))))
def test_quoting_round_trips(text: str) -> None:
    assert mi.unquote(mi.quote(text)) == text


@pytest.mark.parametrize("text", ["a\nb", "a\rb"])
def test_a_command_cannot_hold_a_line_end(text: str) -> None:
    with pytest.raises(ProtocolError):
        mi.command_line(1, text)
    with pytest.raises(ProtocolError):
        mi.quote(text)
