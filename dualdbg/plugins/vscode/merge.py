"""Pure: adds to a user's file what a generated one has and the user's lacks; the user's own text stays as it is."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

from .jsonc import Node, parse

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


# The member by which VS Code distinguishes the entries of a list: configurations and compounds, tasks, inputs.
_IDENTITIES = ("name", "label", "id")


@dataclass(frozen=True)
class Difference:
    """``path`` is the place in the file. ``missing``: the entry can be added; otherwise the user's value stays."""

    path: str
    missing: bool
    detail: str = ""

    def __str__(self) -> str:
        if self.missing:
            return f"{self.path} is missing"
        return f"{self.path} differs" + (f": {self.detail}" if self.detail else "")


@dataclass
class Merged:
    """The user's text with what was missing, and how it differed before."""

    text: str
    differences: list[Difference] = field(default_factory=list)

    @property
    def added(self) -> list[Difference]:
        """What the user's text lacked and has now."""
        return [difference for difference in self.differences if difference.missing]

    @property
    def kept(self) -> list[Difference]:
        """What the user has otherwise, which stays."""
        return [difference for difference in self.differences if not difference.missing]


def merge(generated: str, users: str, where: str, own: Container[str] = ()) -> Merged:
    """Add what ``generated`` has to ``users``; members of the names ``own`` may have any value.

    Raises ConfigError when the user's file cannot be read.
    """
    ours = parse(generated, f"the template of {where}")
    theirs = parse(users, where)
    assert ours is not None
    if theirs is None:  # nothing but comments
        head = users.rstrip()
        return Merged(f"{head}\n{generated}" if head else generated, [Difference(where, True)])
    found = _Comparison(generated, own)
    found.compare(ours, theirs, "")
    return Merged(apply(users, theirs, found.additions), found.differences)


class _Comparison:
    def __init__(self, generated: str, own: Container[str]) -> None:
        self.generated = generated
        self.own = own
        self.additions: list[Addition] = []
        self.differences: list[Difference] = []

    def compare(self, ours: Node, theirs: Node, path: str) -> None:
        """Note what ``theirs`` lacks. Goes down as long as both values are objects, or both lists of named entries."""
        if ours.members is not None and theirs.members is not None:
            self._compare_objects(ours, theirs, path)
        elif _is_list_of_named(ours) and theirs.items is not None:
            self._compare_lists(ours, theirs, path)
        elif ours.value != theirs.value:
            self._note(path or "the whole file", _told(ours, theirs))

    def _compare_objects(self, ours: Node, theirs: Node, path: str) -> None:
        assert ours.members is not None and theirs.members is not None
        missing = []
        for key, node in ours.members.items():
            place = f"{path} > {key}" if path else key
            if key in theirs.members and key not in self.own:
                self.compare(node, theirs.members[key], place)
            elif key not in theirs.members:
                missing.append(self._text(node))
                self.differences.append(Difference(place, True))
        self.additions.append(Addition(theirs, missing))

    def _compare_lists(self, ours: Node, theirs: Node, path: str) -> None:
        there = {name: node for node in theirs.items or () for name in [_identity(node)] if name}
        missing = []
        for node in ours.items or ():
            name = _identity(node)
            place = f"{path} > {name}"
            if name not in there:
                missing.append(self._text(node))
                self.differences.append(Difference(place, True))
            elif node.value != there[name].value:
                self._note(place, _told(node, there[name]))
        self.additions.append(Addition(theirs, missing))

    def _note(self, path: str, detail: str) -> None:
        self.differences.append(Difference(path, False, detail))

    def _text(self, node: Node) -> str:
        """The lines of an entry in the template, with the comment lines above it, and without indentation.

        In a template an entry that can be added begins on a line of its own.
        """
        start = self.generated.rfind("\n", 0, node.start) + 1
        lines = self.generated[start : node.end].split("\n")
        above = self.generated[:start].split("\n")[:-1]
        while above and above[-1].lstrip().startswith("//"):
            lines.insert(0, above.pop())
        return textwrap.dedent("\n".join(lines))


def _is_list_of_named(node: Node) -> bool:
    return bool(node.items) and all(_identity(item) for item in node.items or ())


def _identity(node: Node) -> str | None:
    for key in _IDENTITIES:
        if node.members is not None and key in node.members:
            return str(node.members[key].value)
    return None


def _told(ours: Node, theirs: Node) -> str:
    """What differs: the names of members, or both values where they are short."""
    if ours.members is not None and theirs.members is not None:
        return ", ".join(_differing(ours, theirs))
    short = [json.dumps(node.value, ensure_ascii=False) for node in (theirs, ours)]
    return f"{short[0]}, and not {short[1]}" if sum(map(len, short)) < 80 else ""


def _differing(ours: Node, theirs: Node) -> Iterator[str]:
    assert ours.members is not None and theirs.members is not None
    for key in {**ours.members, **theirs.members}:
        if key not in theirs.members:
            yield f"{key} is missing"
        elif key not in ours.members:
            yield f"{key} is yours"
        elif ours.members[key].value != theirs.members[key].value:
            yield key
