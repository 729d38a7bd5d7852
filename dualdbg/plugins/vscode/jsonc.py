"""Reads JSON with comments, the format of VS Code's settings files, and notes where in the text each value stands."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from ...errors import ConfigError

# What may stand between two tokens. A comment that is not closed matches no alternative, and is reported.
_GAP = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_DEEPEST = 200  # nested values; fewer than Python's limit of recursion


@dataclass(frozen=True)
class Node:
    """A value and its place: ``text[start:end]``.

    ``value`` is what json would give for it. An object has ``members`` (if a name stands twice, the last one counts,
    as in VS Code), an array has ``items``; ``comma`` says that a comma follows the last value.
    """

    start: int
    end: int
    value: Any
    members: dict[str, Node] | None = None
    items: tuple[Node, ...] | None = None
    comma: bool = False

    @property
    def children(self) -> tuple[Node, ...]:
        """The values in an object or an array, in order; none for any other value."""
        return tuple(self.members.values()) if self.members is not None else self.items or ()


def parse(text: str, where: str) -> Node | None:
    """The one value of ``text``; None when the text holds only space and comments.

    ``where`` names the text in messages. Raises ConfigError with line and column.
    """
    return _Parser(text, where).whole()


class _Parser:
    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self.at = 0

    def whole(self) -> Node | None:
        self._skip()
        if self.at == len(self.text):
            return None
        node = self._value(0)
        self._skip()
        if self.at < len(self.text):
            raise self._wrong("the end was expected")
        return node

    def _value(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self._wrong("values are nested too deeply")
        start = self.at
        mark = self.text[start : start + 1]
        if mark in ("{", "["):
            return self._container(start, mark, depth)
        found = _STRING.match(self.text, start) or _WORD.match(self.text, start)
        if found is None:
            raise self._wrong("a value was expected")
        try:
            value = json.loads(found.group())
        except ValueError:
            raise self._wrong("this is no number or text of JSON") from None
        self.at = found.end()
        return Node(start, self.at, value)

    def _container(self, start: int, mark: str, depth: int) -> Node:
        closing = "}" if mark == "{" else "]"
        self.at += 1
        members: dict[str, Node] = {}
        items: list[Node] = []
        comma = True
        while True:
            self._skip()
            if self.text[self.at : self.at + 1] == closing:
                break
            if not comma:
                raise self._wrong(f"a comma or {closing} was expected")
            if mark == "{":
                key = self._key()
                members[key] = self._value(depth + 1)
            else:
                items.append(self._value(depth + 1))
            comma = self._comma()
        self.at += 1
        comma = comma and bool(members or items)
        if mark == "{":
            plain = {key: node.value for key, node in members.items()}
            return Node(start, self.at, plain, members, None, comma)
        values = [node.value for node in items]
        return Node(start, self.at, values, None, tuple(items), comma)

    def _key(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise self._wrong("a name in quotes was expected")
        try:
            key = str(json.loads(found.group()))
        except ValueError:
            raise self._wrong("this is no text of JSON") from None
        self.at = found.end()
        self._skip()
        if self.text[self.at : self.at + 1] != ":":
            raise self._wrong("a colon was expected")
        self.at += 1
        self._skip()
        return key

    def _comma(self) -> bool:
        before = self.at
        self._skip()
        if self.text[self.at : self.at + 1] == ",":
            self.at += 1
            return True
        self.at = before
        return False

    def _skip(self) -> None:
        found = _GAP.match(self.text, self.at)
        assert found is not None  # the pattern also matches the empty text
        self.at = found.end()
        if self.text.startswith("/*", self.at):
            raise self._wrong("this comment is not closed")

    def _wrong(self, what: str) -> ConfigError:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - (self.text.rfind("\n", 0, self.at) + 1) + 1
        return ConfigError(
            f"{self.where}, line {line}, column {column}: {what}",
            "correct the file (VS Code underlines the place), then repeat the command",
        )
