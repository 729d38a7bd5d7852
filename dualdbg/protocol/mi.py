"""GDB/MI: one complete output line becomes one record, one command becomes one line (no I/O).

The grammar is in the GDB manual, "GDB/MI Output Syntax". Only complete lines are parsed: pygdbmi's parser never
returns on a line that was cut.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from pygdbmi import gdbmiparser

from ..errors import ProtocolError


@dataclass(frozen=True)
class Result:
    """The answer to the command with this token: ``kind`` is done, running, connected, error or exit."""

    token: int | None
    kind: str
    payload: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Async:
    """Something that happened: ``kind`` is for example stopped, running, library-loaded."""

    kind: str
    payload: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Stream:
    """Text for people: ``channel`` is console, target or log."""

    channel: str
    text: str


@dataclass(frozen=True)
class Prompt:
    """``(gdb)``: gdb is ready for a command."""


Record = Union[Result, Async, Stream, Prompt]

_RESULTS = {"^"}
_ASYNC = {"*", "=", "+"}
_STREAMS = {"~": "console", "@": "target", "&": "log"}


def parse_line(line: str) -> Record | None:
    """The record on one complete line, without its line end; None for a blank line.

    Raises ProtocolError for a line that is not MI at all.
    """
    line = line.rstrip("\r\n")
    if not line:
        return None
    if line.startswith("(gdb)"):
        return Prompt()
    digits = len(line) - len(line.lstrip("0123456789"))
    mark = line[digits : digits + 1]
    if mark in _STREAMS:
        return Stream(_STREAMS[mark], unquote(line[digits + 1 :]))
    if mark not in _RESULTS and mark not in _ASYNC:
        raise ProtocolError(f"gdb wrote a line that is not MI: {line[:200]!r}")
    parsed = gdbmiparser.parse_response(line)
    payload = parsed.get("payload")
    if not isinstance(payload, dict):
        payload = {}
    if mark in _RESULTS:
        return Result(int(line[:digits]) if digits else None, str(parsed["message"]), payload)
    return Async(str(parsed["message"]), payload)


_ESCAPES = {
    "n": 10,
    "t": 9,
    "r": 13,
    "a": 7,
    "b": 8,
    "f": 12,
    "v": 11,
    "e": 27,
    "\\": 92,
    '"': 34,
    "'": 39,
}


def unquote(text: str) -> str:
    """The text of an MI c-string, its quotes and escapes taken away; octal escapes are bytes of UTF-8."""
    if len(text) >= 2 and text[0] == '"' and text[-1] == '"':
        text = text[1:-1]
    if "\\" not in text:
        return text
    out = bytearray()
    position = 0
    while position < len(text):
        backslash = text.find("\\", position)
        if backslash < 0 or backslash + 1 >= len(text):
            out += text[position:].encode("utf-8", "surrogateescape")
            break
        out += text[position:backslash].encode("utf-8", "surrogateescape")
        following = text[backslash + 1]
        if following in "01234567":
            end = backslash + 1
            while end < len(text) and end < backslash + 4 and text[end] in "01234567":
                end += 1
            out.append(int(text[backslash + 1 : end], 8) & 0xFF)
            position = end
        else:
            out.append(_ESCAPES.get(following, ord(following) & 0xFF))
            position = backslash + 2
    return out.decode("utf-8", "replace")


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
