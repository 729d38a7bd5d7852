"""GDB/MI: one complete output line becomes one record, one command becomes one line (no I/O).

The grammar is in the GDB manual, "GDB/MI Output Syntax"; :mod:`mi_grammar` sees to it that pygdbmi's parser gets
nothing else, of a bounded length.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any, Union

from pygdbmi import gdbmiparser

from ..errors import ProtocolError
from .mi_grammar import checked_results


@dataclass(frozen=True)
class Results:
    """Named values: texts, lists, and again named values. Each method raises ProtocolError for one of another type.

    gdb repeats a name in some combined stops; then the last value counts, unless a method says otherwise.
    """

    values: dict[str, Any]

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str, which: int = -1) -> str | None:
        """The text of this name, None where there is none; of several the last, or the one at ``which``."""
        value = self._of(name, which)
        if value is None or isinstance(value, str):
            return value
        raise ProtocolError(f"gdb wrote {name}={str(value)[:100]} where a text belongs")

    def number(self, name: str) -> int | None:
        """The decimal number of this name, None where there is none. gdb's own breakpoints have numbers below zero."""
        text = self.text(name)
        if text is None:
            return None
        if not _NUMBER.fullmatch(text):
            raise ProtocolError(f"gdb wrote {name}={text[:100]!r} where a number belongs")
        return int(text)

    def address(self, name: str) -> int | None:
        """The hexadecimal number of this name, None where there is none or gdb has no address, ``<unavailable>``."""
        text = self.text(name)
        return int(text, 16) if text is not None and _ADDRESS.fullmatch(text) else None

    def results(self, name: str) -> Results:
        """The named values of this name; empty where there is none."""
        value = self._of(name, -1)
        if value is None or isinstance(value, dict):
            return Results(value or {})
        raise ProtocolError(f"gdb wrote {name}={str(value)[:100]} where named values belong")

    def all_results(self, name: str) -> list[Results]:
        """The named values of this name, which may stand there several times, in order."""
        value = self.values.get(name, [])
        values = value if isinstance(value, list) else [value]
        if all(isinstance(one, dict) for one in values):
            return [Results(one) for one in values]
        raise ProtocolError(f"gdb wrote {name}={str(value)[:100]} where named values belong")

    def rows(self, name: str) -> list[Results]:
        """The rows of a list of named values; empty where there is none."""
        value = self.values.get(name, [])
        if isinstance(value, list) and all(isinstance(row, dict) for row in value):
            return [Results(row) for row in value]
        raise ProtocolError(f"gdb wrote {name}={str(value)[:100]} where rows belong")

    def _of(self, name: str, which: int) -> Any:
        value = self.values.get(name)
        if isinstance(value, list):
            return value[which] if value else None
        return value


_NUMBER = re.compile(r"-?[0-9]{1,18}")
_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]{1,16}")


@dataclass(frozen=True)
class Result:
    """The answer to the command with this token: ``kind`` is done, running, connected, error or exit."""

    token: int | None
    kind: str
    payload: Results = field(default_factory=lambda: Results({}))


@dataclass(frozen=True)
class Async:
    """Something that happened: ``kind`` is for example stopped, running, library-loaded."""

    kind: str
    payload: Results = field(default_factory=lambda: Results({}))


@dataclass(frozen=True)
class Stream:
    """Text for people: ``channel`` is console, target or log."""

    channel: str
    text: str


@dataclass(frozen=True)
class Prompt:
    """``(gdb)``: gdb is ready for a command."""


Record = Union[Result, Async, Stream, Prompt]

_STREAMS = {"~": "console", "@": "target", "&": "log"}
_RECORD = re.compile(
    r"(?P<token>\d{0,18})(?P<mark>[\^*=+])(?P<kind>[A-Za-z][\w-]*)(?P<results>,.*)?", re.ASCII
)
_REQUEST = re.compile(r"(\d{1,18})\^", re.ASCII)


def parse_line(line: str, wanted: Container[str] | None = None) -> Record | None:
    """The record on one complete line, without its line end; None for a blank line.

    ``wanted`` are the kinds of events whose results are read; other events come without results. None: all kinds.
    Raises ProtocolError for a line that is not MI. The time that it takes is proportional to the line's length.
    """
    line = line.rstrip("\r\n")
    if not line:
        return None
    if line[0] in _STREAMS:
        if not _is_quoted(line[1:]):
            raise ProtocolError(f"gdb wrote a line that is not MI: {line[:200]!r}")
        return Stream(_STREAMS[line[0]], unquote(line[1:]))
    if line.rstrip() == "(gdb)":
        return Prompt()
    match = _RECORD.fullmatch(line)
    if match is None:
        raise ProtocolError(f"gdb wrote a line that is not MI: {line[:200]!r}")
    results, kind = match["results"], match["kind"]
    if match["mark"] == "^":
        return Result(int(match["token"]) if match["token"] else None, kind, _payload(results))
    return Async(kind, _payload(results) if wanted is None or kind in wanted else Results({}))


def _payload(results: str | None) -> Results:
    if not results:
        return Results({})
    text = checked_results(results)
    try:
        parsed = gdbmiparser.parse_response(f"=results{text}")["payload"]
    except (ValueError, TypeError, IndexError, RecursionError) as error:
        raise ProtocolError(f"gdb wrote a record that cannot be read: {results[:200]!r}") from error
    if not isinstance(parsed, dict):
        raise ProtocolError(f"gdb wrote a record that cannot be read: {results[:200]!r}")
    return Results(parsed)


def request_of(line: str) -> int | None:
    """The token of the request that a line answers, even when the rest of it cannot be read; None for no answer."""
    match = _REQUEST.match(line)
    return int(match[1]) if match is not None else None


_LETTERS = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, "e": 27}
_ESCAPE = re.compile(r"\\(?:[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED_BYTES = re.compile(_ESCAPE.pattern.encode(), re.DOTALL)
# Of each escape the byte; a character that is no escape stands for itself. One look is a tenth of working it out.
_BYTES = {
    **{b"\\%c" % byte: b"%c" % byte for byte in range(256)},
    **{b"\\" + letter.encode(): b"%c" % byte for letter, byte in _LETTERS.items()},
    **{
        f"\\{number:0{digits}o}".encode(): b"%c" % (number & 0xFF)
        for digits in (1, 2, 3)
        for number in range(8**digits)
    },
}


def _is_quoted(text: str) -> bool:
    """Whether this is one MI c-string. A pattern for the whole would keep 70 bytes of memory for each escape."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return False
    rest = _ESCAPE.sub("", text[1:-1])
    return '"' not in rest and "\\" not in rest


def unquote(text: str) -> str:
    """The text of an MI c-string, its quotes and escapes taken away; octal escapes are bytes of UTF-8."""
    if len(text) >= 2 and text[0] == '"' and text[-1] == '"':
        text = text[1:-1]
    if "\\" not in text:
        return text
    data = text.encode("utf-8", "surrogateescape")
    return _ESCAPED_BYTES.sub(_unescaped, data).decode("utf-8", "replace")


def _unescaped(escape: re.Match[bytes]) -> bytes:
    return _BYTES[escape[0]]


def quote(text: str) -> str:
    """An MI c-string; line ends cannot be carried inside a command and are refused."""
    if "\n" in text or "\r" in text:
        raise ProtocolError(f"a gdb command cannot hold a line end: {text!r}")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def command_line(token: int, command: str) -> str:
    """The line that sends ``command`` (for example ``-exec-continue``) with this token."""
    if "\n" in command or "\r" in command:
        raise ProtocolError(f"a gdb command cannot hold a line end: {command!r}")
    return f"{token}{command}\n"
