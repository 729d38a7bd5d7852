"""Which function of a Cython source a line belongs to, by indentation, and which lines may run. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .names import ACCESSORS, CythonName, Part

MODULE = "<module>"  # what the lines outside of functions belong to

_CLASS = re.compile(r"(?:cdef\s+)?(?:public\s+|api\s+|cppclass\s+)*class\s+(?P<name>\w+)")
_PROPERTY = re.compile(r"property\s+(?P<name>\w+)\s*:")
_DEF = re.compile(r"(?:async\s+)?def\s+(?P<name>\w+)")
_C_FUNCTION = re.compile(r"(?:cdef|cpdef)\b[^=#(]*?(?P<name>\w+)\s*\(")
# Statements of which no code is made: what only declares something, and the words before a block.
_IDLE = re.compile(
    r"(?:else|try|finally)\s*:\s*(?:#.*)?$|(?:cdef|cpdef)\b[^=(]*$|(?:global|nonlocal|ctypedef|cimport)\b"
    r"|(?!(?:else|try|finally)\s*:)\w+\s*:[^=]*$|@|\"\"\"|'''"
)
_STRING = re.compile(r"\"\"\"|'''")


@dataclass(frozen=True)
class Function:
    """A function: its path within the module, the line that begins it, and the last one of its code."""

    path: tuple[str, ...]
    first: int
    last: int


def functions_of(lines: Sequence[str]) -> list[Function]:
    """The functions of a source, outer ones before inner ones. Lines count from 1."""
    found: list[Function] = []
    # Indentation, name, and the index in ``found`` of a function.
    open_: list[tuple[int, str, int | None]] = []
    for number, text, begins in _statements(lines):
        stripped = text.strip()
        if not begins:
            _extend(found, open_, number if stripped and not stripped.startswith("#") else None)
            continue
        indentation = len(text) - len(text.lstrip())
        while open_ and open_[-1][0] >= indentation:
            open_.pop()
        _extend(found, open_, number)
        scope = _CLASS.match(stripped) or _PROPERTY.match(stripped)
        function = _DEF.match(stripped) or _C_FUNCTION.match(stripped)
        if scope is not None:
            open_.append((indentation, scope["name"], None))
        elif function is not None:
            path = (*(name for _, name, _ in open_), function["name"])
            found.append(Function(path, number, number))
            open_.append((indentation, function["name"], len(found) - 1))
    return found


def statements_of(lines: Sequence[str]) -> frozenset[int]:
    """The lines at which a statement begins that has something to run. Lines count from 1."""
    rows = _statements(lines)
    return frozenset(number for number, text, begins in rows if begins and not _IDLE.match(text.strip()))


def _statements(lines: Sequence[str]) -> Iterator[tuple[int, str, bool]]:
    """The lines with their numbers, and whether a statement begins there: not within a text or brackets."""
    quoted: str | None = None
    continued = 0
    for number, text in enumerate(lines, 1):
        was_quoted, quoted = quoted is not None, _quote_after(text, quoted)
        was_continued, continued = continued > 0, max(continued + _opened(text, was_quoted), 0)
        stripped = text.strip()
        is_within = was_quoted or was_continued
        yield number, text, not is_within and bool(stripped) and not stripped.startswith("#")


def _extend(found: list[Function], open_: list[tuple[int, str, int | None]], number: int | None) -> None:
    for _, _, index in open_:
        if index is not None and number is not None:
            found[index] = Function(found[index].path, found[index].first, number)


def _quote_after(text: str, quoted: str | None) -> str | None:
    """The triple quote that is open behind a line."""
    for match in _STRING.finditer(text):
        if quoted is None:
            quoted = match[0]
        elif quoted == match[0]:
            quoted = None
    return quoted


def _opened(text: str, was_quoted: bool) -> int:
    """How many brackets a line leaves open; texts in quotes are not looked at."""
    if was_quoted:
        return 0
    bare = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|#.*", "", text)
    return sum(bare.count(letter) for letter in "([{") - sum(bare.count(letter) for letter in ")]}")


def function_at(functions: Sequence[Function], line: int) -> Function | None:
    """The innermost function that a line belongs to; None for the code of the module."""
    around = [one for one in functions if one.first <= line <= one.last]
    return max(around, key=lambda one: one.first, default=None)


def is_of(name: CythonName | None, owner: Function | None) -> bool:
    """Whether a C function belongs to a function of the source; None is the code of the module."""
    if name is None or name.part in (Part.CHOICE, Part.PASSING):
        return False
    if owner is None:
        return name.path[-1] == MODULE
    path = name.path[:-1] if name.path[-1] in ACCESSORS else name.path
    return owner.path in (path[-len(owner.path) :], name.path[-len(owner.path) :])
