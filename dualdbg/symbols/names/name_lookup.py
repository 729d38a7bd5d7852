"""From a query to the symbols of one table that it means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice

from ...shared.symbol_table import Entry, SymbolTable
from ...toolchains.registry import strings_named
from ...toolchains.rust.names import is_rust
from .cxx_names import parse
from .demangle import demangle_all
from .name_query import Query

# Strings that are demangled in one go, between two looks at whether there are enough matches.
_CHUNK = 4096


def entries_named(
    table: SymbolTable, query: Query, wanted: Callable[[SymbolTable, Entry], bool], limit: int | None = None
) -> list[Entry]:
    """The symbols of ``table`` that ``query`` means and ``wanted`` accepts; cold parts are left out.

    The search ends soon after ``limit`` strings have matched.
    """
    texts: dict[int, str] = {}
    for matches in chain(strings_named(table, query), _matching_strings(table, query)):
        texts.update(matches)
        if limit is not None and len(texts) >= limit:
            break
    return [
        entry
        for entry in table.with_names(_of_one_kind(texts, query))
        if wanted(table, entry) and b".cold" not in table.name(entry)
    ]


def entries_remembered(
    table: SymbolTable, query: Query, wanted: Callable[[SymbolTable, Entry], bool], positions: list[int]
) -> list[Entry] | None:
    """The entries at ``positions``, if ``query`` means every one of them; else None, and the caller searches."""
    if any(position >= table.count for position in positions):
        return None
    entries = [table.entry(position) for position in positions]
    names = [table.name(entry) for entry in entries]
    texts = demangle_all(name.partition(b"@")[0] for name in names)
    meant = all(
        query.is_plain(name) or (query.matches_rust(text) if _is_rust(name) else query.matches(text))
        for name, text in zip(names, texts, strict=True)
    )
    return entries if meant and all(wanted(table, entry) for entry in entries) else None


def _of_one_kind(texts: dict[int, str], query: Query) -> dict[int, str]:
    """Without ``get() const`` where ``get()`` was asked for and the class has both."""
    if query.is_glob or query.parsed.parameters is None or query.parsed.qualifiers:
        return texts
    names = {at: parse(text) for at, text in texts.items()}
    plain = {(one.components, one.parameters) for one in names.values() if not one.qualifiers}
    return {
        at: text
        for at, text in texts.items()
        if not names[at].qualifiers or (names[at].components, names[at].parameters) not in plain
    }


def _matching_strings(table: SymbolTable, query: Query) -> Iterator[dict[int, str]]:
    """File offset -> demangled text of the strings in the table that the query means, in portions."""
    strings, plain = table.strings, query.plain
    if plain is not None and (query.is_linkage_name or strings.is_frequent(plain)):
        yield _as_they_are([(at, name) for at, name in strings.names(plain) if query.is_plain(name)])
        if query.is_linkage_name:
            return
        holding = strings.holding(query.needles[0])
    else:
        # A name without scopes may belong to C or to C++: both are found in one search.
        holding = strings.holding(plain or strings.rarest(query.needles or [b"_Z"]))
    while chunk := list(islice(holding, _CHUNK)):
        names: list[tuple[int, bytes]] = []
        candidates: list[tuple[int, bytes]] = []
        for begin, string in chunk:
            at = string.find(plain) if plain is not None else -1
            while plain is not None and at >= 0:  # ``isr`` is twice in ``isr.isra.0``
                if query.is_plain(string[at:]):
                    names.append((begin + at, string[at:]))
                at = string.find(plain, at + 1)
            candidates += (one for one in query.candidates(begin, string) if not _is_rust(one[1]))
        matching = {at: text for at, text in _as_they_are(candidates).items() if query.matches(text)}
        yield {**_as_they_are(names), **matching}


def _is_rust(name: bytes) -> bool:
    return is_rust(name.decode("utf-8", "replace"))


def _as_they_are(names: list[tuple[int, bytes]]) -> dict[int, str]:
    """Offset -> demangled text, for (offset, string)."""
    texts = demangle_all(name.partition(b"@")[0] for _, name in names)
    return dict(zip((at for at, _ in names), texts, strict=True))
