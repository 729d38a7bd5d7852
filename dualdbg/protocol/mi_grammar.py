"""The grammar of GDB/MI's results, checked in one pass (no I/O): what passes is safe for pygdbmi's parser.

For some texts that are not MI (a list that is not closed) that parser never ends; others it misreads. Here each
character is looked at once or twice. The grammar is in the GDB manual, "GDB/MI Output Syntax":

    results -> ("," result)*        result -> name "=" value        value -> string | tuple | list
    tuple -> "{}" | "{" result ("," result)* "}"
    list -> "[]" | "[" value ("," value)* "]" | "[" result ("," result)* "]"

gdb up to 13 writes the commands of a breakpoint as a tuple of values, ``{"silent","print x"}``; it is passed on as a
list.
"""

from __future__ import annotations

import re

from ..errors import ProtocolError

MAXIMUM = 1 << 17  # characters of a record; most have some hundred, and pygdbmi takes 10 µs for each
DEEPEST = 64  # tuples and lists within each other

_STRING = re.compile(r'"[^"\\]*(?:\\(?:[0-7]{3}|[\'"\\abefnrt])[^"\\]*)*"')
_NAME = re.compile(r"[^\s\"{}\[\],=]+=")
_CLOSERS = {"{": "}", "[": "]"}
_OPENERS = frozenset('"{[')


def checked_results(text: str) -> str:
    """``text``, which begins with the comma before the first result, as pygdbmi's parser can read it.

    Raises ProtocolError for what does not follow the grammar, or is too long or too deep.
    """
    if len(text) > MAXIMUM:
        raise ProtocolError(f"gdb wrote a record of {len(text)} characters, more than {MAXIMUM}")
    return _Check(text).run()


class _Check:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._closers: list[str] = []  # of the tuples and lists that are open
        self._lists: list[bool] = []  # for each of them: its items are values
        self._changed: list[tuple[int, str]] = []  # positions of braces to replace by brackets

    def run(self) -> str:
        while self._at < len(self._text):
            if self._closers and self._text[self._at] == self._closers[-1]:
                self._close()
            elif self._text[self._at] == ",":
                self._at += 1
                self._item()
            else:
                raise self._refused("a comma or an end is missing")
        if self._closers:
            raise self._refused(f"{self._closers[-1]} is missing")
        return self._rewritten()

    def _item(self) -> None:
        """A result or a value; of a tuple or a list only its beginning, with its first item."""
        while True:
            values = self._lists[-1] if self._lists else False
            if not values:
                name = _NAME.match(self._text, self._at)
                if name is None:
                    raise self._refused("a name is missing")
                self._at = name.end()
            opener = self._text[self._at : self._at + 1]
            if opener == '"':
                string = _STRING.match(self._text, self._at)
                if string is None:
                    raise self._refused("a text has no end, or an escape that gdb does not write")
                self._at = string.end()
                return
            if opener not in _CLOSERS:
                raise self._refused("a value is missing")
            if self._open(opener):
                return

    def _open(self, opener: str) -> bool:
        """Begin a tuple or a list; True when it is empty, and has ended."""
        if len(self._closers) == DEEPEST:
            raise self._refused(f"more than {DEEPEST} tuples and lists within each other")
        following = self._text[self._at + 1 : self._at + 2]
        values = following in _OPENERS if following else False
        if opener == "{" and values:
            self._changed.append((self._at, "["))
        self._at += 1
        self._closers.append(_CLOSERS[opener])
        self._lists.append(values)
        if following != self._closers[-1]:
            return False
        self._close()
        return True

    def _close(self) -> None:
        if self._lists.pop() and self._closers[-1] == "}":
            self._changed.append((self._at, "]"))
        self._closers.pop()
        self._at += 1

    def _rewritten(self) -> str:
        parts, start = [], 0
        for at, character in self._changed:
            parts += [self._text[start:at], character]
            start = at + 1
        return "".join([*parts, self._text[start:]])

    def _refused(self, why: str) -> ProtocolError:
        shown = self._text[max(self._at - 20, 0) : self._at + 40]
        return ProtocolError(f"gdb wrote what is not MI: {why} at {self._at}, near {shown!r}")
