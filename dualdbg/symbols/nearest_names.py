"""The functions whose names are nearest to one that does not exist: what the user may have meant.

A misspelt word mostly keeps its beginning or its end. So the strings with either are looked at, in place, and only
the likely ones are demangled.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from ..shared.string_table import StringTable
from .names.cxx_names import parse
from .names.demangle import demangle_all
from .objfile import Objfile

_LONG = 8  # letters; a word of this length or longer may have two too few or too many, a shorter one only one
_HITS = 20_000  # looked at for each beginning or end
_STRINGS = 24  # demangled for each likely word
_WORDS = 12
_ANY_CASE = 6  # letters; only a word of this length or longer is also looked for in the wrong case
_MEMBERS = 2_000  # functions looked at in the scope that the user wrote
_SIMILAR = 0.7  # difflib's measure of words worth showing


def nearest_names(name: str, libraries: Iterable[Objfile], limit: int = 5) -> list[str]:
    """Qualified names (without parameters) of existing functions, the nearest to ``name`` first."""
    wanted = parse(name.strip().removeprefix("::")).bases
    if not wanted[-1].isidentifier():
        return []
    tables = [table.strings for library in libraries for table in library.tables]
    found = set().union(*(_similar_functions(strings, wanted) for strings in tables))
    if not found and len(wanted[-1]) >= _ANY_CASE:  # slow, so only when everything else fails
        words = ((wanted[-1], _any_case(strings, wanted[-1].encode())) for strings in tables)
        found = set().union(*(_functions_named_like(word, pairs) for word, pairs in words))
    ranked = sorted(found, key=lambda bases: (-_likeness(wanted, bases), len(bases), bases))
    return ["::".join(bases) for bases in ranked[:limit]]


def _similar_functions(strings: StringTable, wanted: tuple[str, ...]) -> set[tuple[str, ...]]:
    word = wanted[-1]
    likely = _similar_strings(strings, word.encode(), may_be_c=len(wanted) == 1)
    found = _functions_named_like(word, likely)
    if len(wanted) > 1 and wanted[-2].isidentifier():
        scope = str(len(wanted[-2])).encode() + wanted[-2].encode()
        members = _functions(string for _, string in islice(strings.holding(scope), _MEMBERS))
        found |= {bases for bases in members if bases[-2:-1] == wanted[-2:-1]}
    return found


def _functions_named_like(word: str, strings: Iterable[tuple[bytes, bytes]]) -> set[tuple[str, ...]]:
    """The functions whose names are the most likely among the (identifier, string)."""
    holders: dict[str, set[bytes]] = {}
    for identifier, string in strings:
        holders.setdefault(identifier.decode("utf-8", "replace"), set()).add(string)
    by_lower = {identifier.lower(): identifier for identifier in holders}
    likely = difflib.get_close_matches(word, holders, n=_WORDS, cutoff=_SIMILAR)
    if word.lower() in by_lower:
        likely.append(by_lower[word.lower()])
    return {
        bases
        for identifier in likely
        for bases in _functions(sorted(holders[identifier], key=lambda s: (len(s), s))[:_STRINGS])
        if bases[-1] == identifier
    }


def _functions(strings: Iterable[bytes]) -> Iterator[tuple[str, ...]]:
    for text in demangle_all(strings):
        name = parse(text)
        if not name.special and not name.clones and name.bases[-1].isidentifier():
            yield name.bases


def _similar_strings(strings: StringTable, word: bytes, may_be_c: bool) -> Iterator[tuple[bytes, bytes]]:
    """(identifier, string) for identifiers of about the length of ``word`` with its beginning or its end.

    Each length is a separate search, and a search for a shorter text is slower. So there are few searches, for texts
    as long as possible.
    """
    half, slack = len(word) // 2, 1 if len(word) < _LONG else 2
    part = max(2, half if len(word) < _LONG else half - 1)  # two swapped letters in the middle spoil neither
    head, tail = word[:part], word[-part:]
    sizes = range(max(1, len(word) - slack), len(word) + slack + 1)
    for size in sizes:
        prefix = str(size).encode()
        for _, string in islice(strings.holding(prefix + head), _HITS):
            for start in _after(prefix, head, string):
                yield string[start : start + size], string
    for end in (b"E", b"I"):
        for _, string in islice(strings.holding(tail + end), _HITS):
            for start in _after(tail, end, string):
                for size in sizes:
                    if string.endswith(str(size).encode(), 0, start - size):
                        yield string[start - size : start], string
    for c_names in (strings.starting(head), strings.ending(tail)) if may_be_c else ():
        yield from ((string, string) for _, string in islice(c_names, _HITS) if len(string) in sizes)


def _any_case(strings: StringTable, word: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(the word as it is spelt there, string) for the strings that hold the word in other capitals."""
    for string in strings.holding_any_case(word):
        yield from ((match.group(), string) for match in re.finditer(re.escape(word), string, re.IGNORECASE))


def _after(first: bytes, second: bytes, string: bytes) -> Iterator[int]:
    """Where ``second`` stands right after ``first``."""
    at = string.find(first + second)
    while at >= 0:
        yield at + len(first)
        at = string.find(first + second, at + 1)


def _likeness(wanted: tuple[str, ...], bases: tuple[str, ...]) -> float:
    """How alike the last words are, and how alike the whole names with as many scopes as the user wrote."""
    same_scopes = "::".join(bases[-len(wanted) :])
    return _ratio("::".join(wanted), same_scopes) + _ratio(wanted[-1], bases[-1])


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()
