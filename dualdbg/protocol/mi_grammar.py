"""The results of a GDB/MI record, read in one pass (no I/O).

Each character is looked at once or twice, whatever gdb writes. The grammar, from the GDB manual ("GDB/MI Output
Syntax"):

    results -> ("," result)*        result -> name "=" value        value -> string | tuple | list
    tuple -> "{}" | "{" result ("," result)* "}"
    list -> "[]" | "[" value ("," value)* "]" | "[" result ("," result)* "]"

gdb up to 13 writes the commands of a breakpoint as a tuple of values, ``{"silent","print x"}``; that is a list.
"""

from __future__ import annotations

import re
from typing import Any

from ..errors import ProtocolError

MAXIMUM = 1 << 17  # characters of a record; most have some hundred
DEEPEST = 64  # tuples and lists within each other

_TEXT = r'"[^"\\]*(?:\\(?:[0-7]{3}|[\'"\\abefnrt])[^"\\]*)*"'
_STRING = re.compile(_TEXT)
_NAME = re.compile(r"([^\s\"{}\[\],=]+)=")
_NAMED_STRING = re.compile(rf"{_NAME.pattern}({_TEXT})")  # what most results are
_CLOSERS = {"{": "}", "[": "]"}
_OPENERS = frozenset('"{[')


def read_results(text: str) -> dict[str, Any]:
    """The values of ``text`` by their names: texts, dictionaries and lists; it begins with the comma before the first.

    A name that comes again has the list of its values; in a list the names are left out. Raises ProtocolError for what
    does not follow the grammar, or is too long or too deep.
    """
    if len(text) > MAXIMUM:
        raise ProtocolError(f"gdb wrote a record of {len(text)} characters, more than {MAXIMUM}")
    reader = _Reader(text)
    reader.comma()
    return reader.named("")


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def comma(self) -> None:
        if self._next() != ",":
            raise self._refused("a comma or an end is missing")
        self._at += 1

    def named(self, closer: str) -> dict[str, Any]:
        """Results up to ``closer``, of which there is one at least; the end of the text is "" and closes, too."""
        found: dict[str, Any] = {}
        while True:
            name, value = self._result()
            if name not in found:
                found[name] = value
            elif isinstance(found[name], list):
                found[name].append(value)
            else:
                found[name] = [found[name], value]
            if self._next() == closer:
                return found
            self.comma()

    def _listed(self, closer: str, are_values: bool) -> list[Any]:
        found = []
        while True:
            found.append(self._value() if are_values else self._result()[1])
            if self._next() == closer:
                return found
            self.comma()

    def _result(self) -> tuple[str, Any]:
        quick = _NAMED_STRING.match(self._text, self._at)
        if quick is not None:
            self._at = quick.end()
            return quick[1], unquote(quick[2])
        name = _NAME.match(self._text, self._at)
        if name is None:
            raise self._refused("a name is missing")
        self._at = name.end()
        return name[1], self._value()

    def _value(self) -> Any:
        opener = self._next()
        if opener == '"':
            string = _STRING.match(self._text, self._at)
            if string is None:
                raise self._refused("a text has no end, or an escape that gdb does not write")
            self._at = string.end()
            return unquote(string[0])
        if opener not in _CLOSERS:
            raise self._refused("a value is missing")
        if self._depth == DEEPEST:
            raise self._refused(f"more than {DEEPEST} tuples and lists within each other")
        self._depth += 1
        self._at += 1
        value = self._inside(opener, _CLOSERS[opener])
        self._depth -= 1
        self._at += 1
        return value

    def _inside(self, opener: str, closer: str) -> Any:
        """What stands in a tuple or a list, up to its end."""
        following = self._next()
        if following == closer:
            return {} if opener == "{" else []
        if opener == "{" and following not in _OPENERS:
            return self.named(closer)
        return self._listed(closer, following in _OPENERS)

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _refused(self, why: str) -> ProtocolError:
        shown = self._text[max(self._at - 20, 0) : self._at + 40]
        return ProtocolError(f"gdb wrote what is not MI: {why} at {self._at}, near {shown!r}")


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
            code = _ESCAPES.get(following)
            out += bytes([code]) if code is not None else following.encode("utf-8", "surrogateescape")
            position = backslash + 2
    return out.decode("utf-8", "replace")
