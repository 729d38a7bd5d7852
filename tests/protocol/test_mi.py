"""GDB/MI lines become records."""

from __future__ import annotations

import itertools
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualdbg.errors import ProtocolError
from dualdbg.protocol import mi, mi_grammar
from dualdbg.protocol.mi_lines import MAXIMUM, LineSplitter, LineTooLong


def test_result_with_token() -> None:
    record = mi.parse_line('12^done,bkpt={number="1",addr="0x10"}')
    assert record == mi.Result(12, "done", mi.Results({"bkpt": {"number": "1", "addr": "0x10"}}))


def test_error_keeps_gdbs_words() -> None:
    record = mi.parse_line('3^error,msg="No symbol table is loaded.  Use the \\"file\\" command."')
    assert isinstance(record, mi.Result)
    assert record.payload.text("msg") == 'No symbol table is loaded.  Use the "file" command.'


def test_stopped() -> None:
    record = mi.parse_line('*stopped,reason="solib-event",added=[library="/a.so",library="/b.so"]')
    assert isinstance(record, mi.Async)
    assert record.kind == "stopped"
    assert record.payload.values["added"] == ["/a.so", "/b.so"]


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


@given(st.binary())
def test_each_byte_may_be_an_octal_escape(data: bytes) -> None:
    escaped = "".join(f"\\{byte:03o}" for byte in data)
    assert mi.unquote(f'"{escaped}"') == data.decode("utf-8", "replace")


@pytest.mark.parametrize("line", ['~"a"b"', '~"a\\"', '~"', "~", '~a"', '~"a\\\\\\"'])
def test_a_text_that_does_not_end_with_its_line_is_refused(line: str) -> None:
    with pytest.raises(ProtocolError, match="not MI"):
        mi.parse_line(line)


@pytest.mark.parametrize("escape", ["\\001", "\\303\\251", "\\n", "a\\t"])
def test_the_longest_text_takes_little_memory(escape: str) -> None:
    """And so little time: the parser goes over it a fixed number of times."""
    line = '~"' + escape * ((MAXIMUM - 3) // len(escape)) + '"'
    assert not any(isinstance(item, LineTooLong) for item in LineSplitter().feed(line.encode() + b"\n"))
    tracemalloc.start()
    try:
        assert isinstance(mi.parse_line(line), mi.Stream)
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["a\nb", "a\rb"])
def test_a_command_cannot_hold_a_line_end(text: str) -> None:
    with pytest.raises(ProtocolError):
        mi.command_line(1, text)
    with pytest.raises(ProtocolError):
        mi.quote(text)


BROKEN = [
    "*stopped,a=[{",  # pygdbmi's parser does not end for it
    "=library-loaded,id",
    "^done,a=[}",
    '^done,a="1"}',
    '^done,a="no end',
    '^done,a="\\q"',
    '^done,a={b="1"',
    '^done,a=[b="1","2"]',
    "^done,a=" + "[" * 200,
    '^done,a="' + "x" * (2 << 20) + '"',
    '+download,{section=".text"}',
    "9" * 5000 + "^done",
    "^",
    "(gdb) and more",
]


@pytest.mark.parametrize("line", BROKEN, ids=lambda line: line[:24])
def test_what_is_no_record_is_refused_at_once(line: str) -> None:
    start = time.process_time()
    with pytest.raises(ProtocolError):
        mi.parse_line(line)
    assert time.process_time() - start < 5


def test_a_tuple_of_values_is_a_list() -> None:
    """gdb up to 13 writes the commands of a breakpoint so."""
    record = mi.parse_line('1^done,bkpt={number="1",script={"silent","print x"},times="0"}')
    assert isinstance(record, mi.Result)
    bkpt = record.payload.results("bkpt")
    assert bkpt.values["script"] == ["silent", "print x"] and bkpt.number("times") == 0


def test_the_longest_record_takes_seconds_at_most() -> None:
    rows = ",".join(['{x="1"}'] * (mi_grammar.MAXIMUM // 9))
    start = time.process_time()
    record = mi.parse_line(f"1^done,a=[{rows}]")
    assert isinstance(record, mi.Result) and len(record.payload.rows("a")) == mi_grammar.MAXIMUM // 9
    assert time.process_time() - start < 20  # it takes a second


def test_events_that_nobody_wants_are_not_read() -> None:
    assert mi.parse_line('=library-loaded,id="/a.so"', wanted={"stopped"}) == mi.Async("library-loaded")


@pytest.mark.parametrize(("line", "token"), [("12^done,a=[", 12), ("*stopped", None), ("^done", None)])
def test_which_request_an_unreadable_line_answers(line: str, token: int | None) -> None:
    assert mi.request_of(line) == token


NAMES = st.from_regex(r"[a-z][a-z_-]{0,6}", fullmatch=True)
TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=12)
VALUES = st.recursive(
    TEXTS,
    lambda inner: st.dictionaries(NAMES, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=12,
)


def written(value: Any) -> str:
    """A value as gdb writes it."""
    if isinstance(value, str):
        return mi.quote(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{name}={written(inner)}" for name, inner in value.items()) + "}"
    return "[" + ",".join(map(written, value)) + "]"


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_whatever_gdb_may_write_is_read(values: dict[str, Any]) -> None:
    line = "7^done" + "".join(f",{name}={written(value)}" for name, value in values.items())
    assert mi.parse_line(line) == mi.Result(7, "done", mi.Results(values))


PIECES = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        ",",
        "=",
        '"',
        "\\",
        "a",
        "1",
        "id",
        'a="1"',
        "\\303",
        "^done",
        "*stopped",
        "(gdb)",
        "~",
        "&",
    ]
)


@settings(max_examples=400, deadline=5000)
@given(
    st.lists(PIECES, max_size=40).map("".join) | st.binary(max_size=200).map(lambda b: b.decode("latin-1"))
)
def test_anything_is_a_record_or_refused(line: str) -> None:
    """Within five seconds each, and with no other exception."""
    for text in (line, f"*stopped,{line}", f"1^done,a={line}"):
        try:
            mi.parse_line(text)
        except ProtocolError:
            continue


@settings(max_examples=150, deadline=5000)
@given(st.dictionaries(NAMES, VALUES, max_size=4), st.data())
def test_a_record_that_was_cut_or_changed_is_a_record_or_refused(values: dict[str, Any], data: Any) -> None:
    line = "*stopped" + "".join(f",{name}={written(value)}" for name, value in values.items())
    at = data.draw(st.integers(0, len(line)))
    changed = data.draw(st.sampled_from([line[:at], line[:at] + line[at + 1 :], line[:at] + "{" + line[at:]]))
    try:
        mi.parse_line(changed)
    except ProtocolError:
        return


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=8))
def test_lines_do_not_depend_on_how_bytes_arrive(data: bytes, cuts: list[int]) -> None:
    splitter = LineSplitter(40)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in itertools.pairwise(places)]
    found = [item for piece in pieces for item in splitter.feed(piece)]
    lines = [item for item in found if isinstance(item, bytes)]
    *ended, rest = data.split(b"\n")
    assert lines == [line for line in ended if len(line) <= 40]
    assert len(found) - len(lines) == sum(len(line) > 40 for line in [*ended, rest])
