"""From a query to the symbols of one table that it means."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .demangle import demangle_all
from .search import Query
from .symbol import Symbol, symbol_of
from .symbol_table import Entry, SymbolTable


def symbols_named(
    table: SymbolTable, query: Query, wanted: Callable[[SymbolTable, Entry], bool], library: str
) -> list[Symbol]:
    """The symbols of ``table`` that ``query`` means and ``wanted`` accepts; cold parts are left out."""
    texts = _matching_strings(table, query)
    entries = [entry for entry in table.with_names(texts) if wanted(table, entry)]
    symbols = [symbol_of(table, entry, library, texts[entry.name]) for entry in entries]
    return [symbol for symbol in symbols if not symbol.is_cold]


def _matching_strings(table: SymbolTable, query: Query) -> dict[int, str]:
    """File offset -> demangled text of the strings in the table that the query means."""
    strings, plain = table.strings, query.plain
    names: list[tuple[int, bytes]] = []
    holding: Iterable[tuple[int, bytes]] = []
    if plain is not None and (query.is_linkage_name or strings.is_frequent(plain)):
        names += [(at, name) for at, name in strings.names(plain) if query.is_plain(name)]
        if not query.is_linkage_name:
            holding = strings.holding(query.needles[0])
    else:
        # A name without scopes may be one of C or of C++: both are found in one go.
        holding = strings.holding(plain or strings.rarest(query.needles or [b"_Z"]))
    candidates: list[tuple[int, bytes]] = []
    for begin, string in holding:
        if plain is not None and (at := string.rfind(plain)) >= 0 and query.is_plain(string[at:]):
            names.append((begin + at, string[at:]))
        candidates += query.candidates(begin, string)
    found = dict(zip((at for at, _ in names), _demangled(names), strict=True))
    texts = zip((at for at, _ in candidates), _demangled(candidates), strict=True)
    found.update((at, text) for at, text in texts if query.matches(text))
    return found


def _demangled(names: list[tuple[int, bytes]]) -> list[str]:
    return demangle_all(name.partition(b"@")[0] for _, name in names)
