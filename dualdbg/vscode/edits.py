"""Pure: puts values into a text of JSON with comments; every other character stays where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .jsonc import Node

_DEFAULT_UNIT = "    "
_BLANKS = " \t\r\n"


@dataclass(frozen=True)
class Addition:
    """New last entries of an object or array. Each text has no indentation of its own, and four spaces for a level."""

    container: Node
    texts: Sequence[str]


def apply(text: str, root: Node, edits: Sequence[Addition]) -> str:
    """``text`` with all of ``edits`` applied; ``root`` is what :func:`.jsonc.parse` made of ``text``."""
    unit = _unit(text, root)
    changes: list[tuple[int, int, str]] = []
    for edit in edits:
        if edit.texts:
            changes += _added(text, edit, unit)
    for start, end, new in sorted(changes, key=lambda change: change[:2], reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _added(text: str, edit: Addition, unit: str) -> list[tuple[int, int, str]]:
    node = edit.container
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _indent_at(text, node.start)
    inner = _indent_at(text, node.children[0].start) if _has_lines(text, node) else outer + unit
    rows = []
    for new in edit.texts:
        lines = (_with_unit(line, unit) for line in new.split("\n"))
        rows.append(newline.join(inner + line if line else line for line in lines))
    closing = node.end - 1
    # A comment may follow the last value: new entries come behind it, on a separate line.
    start = len(text[:closing].rstrip(_BLANKS))
    changes = [(start, closing, newline + f",{newline}".join(rows) + "," * node.comma + newline + outer)]
    if node.children and not node.comma:
        last = max(child.end for child in node.children)
        changes.append((last, last, ","))
    return changes


def _has_lines(text: str, node: Node) -> bool:
    """Whether the first value stands on another line than the opening bracket."""
    return bool(node.children) and "\n" in text[node.start : node.children[0].start]


def _indent_at(text: str, at: int) -> str:
    """The blanks at the beginning of the line of ``at``."""
    line = text[text.rfind("\n", 0, at) + 1 :].removeprefix("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str, root: Node) -> str:
    """One level of indentation in this file: that of the root's first value."""
    return (_indent_at(text, root.children[0].start) if _has_lines(text, root) else "") or _DEFAULT_UNIT


def _with_unit(line: str, unit: str) -> str:
    body = line.lstrip(" ")
    levels, rest = divmod(len(line) - len(body), len(_DEFAULT_UNIT))
    return unit * levels + " " * rest + body
