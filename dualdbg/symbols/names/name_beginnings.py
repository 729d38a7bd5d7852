"""What the beginning of a qualified name may go on to, in one symbol table: for Tab at a prompt, without an index.

Read from the mangled names as they lie in the file: in ``_ZN2at6native5randnE...`` the scopes come first, each with its
length before it (Itanium C++ ABI, 5.1.4). So the names in ``at::native`` are found by one search for ``_ZN2at6native``,
and little has to be demangled.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

from ...shared.symbol_table import SymbolTable
from ...toolchains.rust.functions import has_rust
from ...toolchains.rust.names import demangle_rust, rust_paths
from . import cxx_names
from .cxx_names import ANONYMOUS, TRANSPARENT
from .demangle import demangle_all

Known = dict[tuple[str, str], frozenset[str]]
"""A scope, and without one the beginning of names -> the names, of one table: what :func:`continuations` has found."""

BEGINNING = re.compile(r"(?:[A-Za-z_]\w*::)*~?(?:[A-Za-z_]\w*)?", re.ASCII)
_SPECIAL = re.compile(rb"CI?[1-5]|D[0-5]")  # constructors and destructors
_RUST_HASH = re.compile(r"h[0-9a-f]{16}")
_QUALIFIERS = rb"[rVKRO]{0,4}"
_SEEN = rb"\w{0,160}"  # of a name and what follows it: no component that a user types is longer
_SCOPE_OR_TEMPLATE = re.compile(rb"L?(\d{1,3})")
_OFTEN = 64  # names in one scope, or of one template, after which no more are looked at
ENOUGH = 3  # letters of a name without scopes: fewer begin thousands
_SAMPLES = 3  # mangled names that are demangled to learn whether a template is a function
_MOST_DEMANGLED = 2000  # names in a class template, and names of Rust


def continuations(table: SymbolTable, beginning: str, known: Known) -> set[str]:
    """Functions that ``beginning`` may be completed to, by their qualified names, and scopes with ``::`` behind them.

    Only the next scope is told, not what is in it. Left out are operators, template arguments, parameters, and what
    nobody can type: lambdas, unnamed scopes.
    """
    parts = split_beginning(beginning)
    if parts is None:
        return set()
    scope, partial = parts
    if not scope and len(partial) < ENOUGH:
        return set()
    key = (scope, "") if scope else ("", _known_beginning(table, partial, known))
    if key not in known:
        known[key] = frozenset(_in_scope(table, scope.split("::")) if scope else _outermost(table, partial))
    before = f"{scope}::" if scope else ""
    return {before + name for name in known[key] if name.startswith(partial)}


def _known_beginning(table: SymbolTable, partial: str, known: Known) -> str:
    """The beginning of a name without scopes, or a shorter one with which it was begun. Of names of Rust not all are
    looked at, so that fewer may have been found with a shorter one.
    """
    if has_rust(table.elf):
        return partial
    begun = (one for scope, one in known if not scope and partial.startswith(one))
    return next(begun, partial)


def split_beginning(text: str) -> tuple[str, str] | None:
    """The scope, and the part of a name in it, that a text holds; None of what begins no function's name."""
    if not text or BEGINNING.fullmatch(text) is None:
        return None
    scope, _, partial = text.rpartition("::")
    return scope, partial


# -- in a scope ----------------------------------------------------------------------------------


def _in_scope(table: SymbolTable, scopes: list[str]) -> Iterator[str]:
    last = scopes[-1]
    functions: dict[str, list[int]] = {}
    nested = _nested(table, _mangled(scopes) + _UNSPOKEN)
    if scopes == ["std"]:
        nested = chain(nested, _unscoped(table, b"St"))
        yield from _abbreviated(table)
    yield from _parted(table, scopes, nested, functions, {b"C": last, b"D": f"~{last}"})
    yield from _defined(table, functions)
    yield from _next(scopes, _paths(islice(_in_template(table, scopes), _MOST_DEMANGLED)))
    yield from _next(scopes, _rust_paths(table, last))


def _parted(
    table: SymbolTable,
    scopes: list[str],
    found: Iterable[tuple[int, bytes]],
    functions: dict[str, list[int]],
    special: Mapping[bytes, str],
) -> Iterator[str]:
    """The scopes, and the templates, among names of which (offset, what follows these scopes) was found.

    The others are put into ``functions`` with their offsets. ``special`` are the names of constructors and destructors.
    """
    templates: dict[str, list[int]] = {}
    for offset, rest in found:
        component = _component(rest)
        if component is None:
            name = special.get(rest[:1]) if _SPECIAL.match(rest) else None
            if name is not None:
                functions.setdefault(name, []).append(offset)
            continue
        name, after = component
        if after.startswith(b"I"):
            templates.setdefault(name, []).append(offset)
        elif after.startswith(b"E") and len(after) > 1:  # of a variable nothing follows
            functions.setdefault(name, []).append(offset)
        elif after[:1] not in (b"", b"E") and not _RUST_HASH.match(name):
            yield f"{name}::"
    yield from _templates(table, scopes, templates)


def _templates(table: SymbolTable, scopes: list[str], found: dict[str, list[int]]) -> Iterator[str]:
    """Which of the names with template arguments are functions, and which are classes with functions in them."""
    for name, places in found.items():
        paths = _paths(table.strings.at(at) for at in places[:_SAMPLES])
        yield from (one for one in _next(scopes, paths) if one in (name, f"{name}::"))


def _paths(mangled: Iterable[bytes]) -> Iterator[tuple[str, ...]]:
    """The names with their scopes, without those that nobody types."""
    for text in demangle_all(string.partition(b"@")[0] for string in mangled):
        yield tuple(one for one in cxx_names.parse(text).bases if one not in cxx_names.TRANSPARENT)


def _rust_paths(table: SymbolTable, word: str) -> Iterator[tuple[str, ...]]:
    """The paths of the functions of Rust with ``word`` in them."""
    if not has_rust(table.elf):
        return
    for _, string in islice(table.strings.holding(word.encode()), _MOST_DEMANGLED):
        text = (
            demangle_rust(string.decode("utf-8", "replace")) if string.startswith((b"_R", b"_ZN")) else None
        )
        yield from rust_paths(text) if text is not None else ()


def _next(scopes: list[str], paths: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """What comes behind these scopes in paths that begin with them."""
    depth = len(scopes)
    for path in paths:
        if path[:depth] == tuple(scopes) and len(path) > depth and BEGINNING.fullmatch(path[depth]):
            yield path[depth] if len(path) == depth + 1 else f"{path[depth]}::"


def _defined(table: SymbolTable, found: dict[str, list[int]]) -> Iterator[str]:
    """The names of which a function is defined here."""
    entries = table.with_names({at for places in found.values() for at in places})
    there = {entry.name for entry in entries if table.is_function(entry)}
    return (name for name, places in found.items() if not there.isdisjoint(places))


# -- without scopes ------------------------------------------------------------------------------


def _outermost(table: SymbolTable, partial: str) -> Iterator[str]:
    letters = re.escape(partial.encode())
    functions: dict[str, list[int]] = {}
    if "std".startswith(partial):
        yield "std::"
    begins = rb"(?=L?\d{1,3}" + letters + b")"
    found = chain(_nested(table, _UNSPOKEN + begins), _unscoped(table, begins))
    yield from _parted(table, [], found, functions, {})
    for offset, name in _plain(table, partial.encode()):
        functions.setdefault(name, []).append(offset)
    yield from _defined(table, functions)
    yield from _next([], _rust_paths(table, partial))


def _plain(table: SymbolTable, partial: bytes) -> Iterator[tuple[int, str]]:
    """The names of C. One that is the tail of another is stored only once: it may begin anywhere in a string."""
    strings, word = table.strings, re.escape(partial)
    for match in re.finditer(rb"\0(?!_Z)([\w.]*?" + word + rb"\w*)(?=[\0@])", strings.view):
        for begin in re.finditer(word, match[1]):
            at = begin.start()
            yield strings.start + match.start(1) + at, match[1][at:].decode()


# -- mangled names -------------------------------------------------------------------------------


def _mangled(scopes: list[str]) -> bytes:
    parts = [*map(_source_name, scopes)]
    if scopes[0] == "std":
        parts[0] = b"St"
        short = _ABBREVIATIONS.get(scopes[1]) if len(scopes) > 1 else None
        if short is not None:
            parts[:2] = [b"(?:St" + _UNSPOKEN + parts[1] + b"|" + short + b")"]
    return _UNSPOKEN.join(parts)


def _abbreviated(table: SymbolTable) -> Iterator[str]:
    """The classes of the standard library that have a short form, and functions in this table."""
    for name, short in _ABBREVIATIONS.items():
        if re.search(rb"\0_ZN" + _QUALIFIERS + short, table.strings.view):
            yield f"{name}::"


def _source_name(name: str) -> bytes:
    return b"%d%s" % (len(name), name.encode())


# Itanium C++ ABI, 5.1.10. ``Sb`` is followed by its arguments, as any template.
_ABBREVIATIONS = {
    "allocator": b"Sa",
    "basic_string": b"Sb",
    "string": b"Ss",
    "istream": b"Si",
    "ostream": b"So",
    "iostream": b"Sd",
}
_UNSPOKEN_NAMES = ("_GLOBAL__N_1", *sorted(TRANSPARENT - {ANONYMOUS}))
_UNSPOKEN = b"(?:" + b"|".join(map(_source_name, _UNSPOKEN_NAMES)) + b")?"


def _nested(table: SymbolTable, scopes: bytes) -> Iterator[tuple[int, bytes]]:
    """(file offset, what follows) of the nested names in these scopes.

    Half of all names of a library may be in one scope of a scope, or be instances of one template: what was met often
    is left out of the rest of the search.
    """
    strings, at, met = table.strings, 0, Counter[bytes]()
    pattern, often = _nested_but(scopes, met, 0), False
    while True:
        for match in pattern.finditer(strings.view, at):
            rest = match[1]
            yield strings.start + match.start() + 1, rest
            group = _SCOPE_OR_TEMPLATE.match(rest)
            if group is not None:
                key = rest[: group.end() + int(group[1]) + 1]
                met[key] += 1
                if met[key] == _OFTEN:
                    at, often = match.end(), True
                    break
        if not often:
            return
        pattern, often = _nested_but(scopes, met, _OFTEN), False


def _unscoped(table: SymbolTable, begins: bytes) -> Iterator[tuple[int, bytes]]:
    """As :func:`_nested`, for the names of functions that are in no scope, or in ``std`` itself: they have no end."""
    strings = table.strings
    for match in re.finditer(rb"\0_Z" + begins + rb"(L?\d" + _SEEN + b")", strings.view):
        component = _component(match[1])
        if component is not None:
            name, after = component
            ended = after if after.startswith(b"I") else b"E" + after
            yield strings.start + match.start() + 1, _source_name(name) + ended


def _nested_but(scopes: bytes, met: Counter[bytes], often: int) -> re.Pattern[bytes]:
    frequent = [re.escape(key) for key, count in met.items() if count >= often]
    but = b"(?!" + b"|".join(frequent) + b")" if frequent else b""
    return re.compile(rb"\0_ZN" + _QUALIFIERS + scopes + but + b"(" + _SEEN + b")")


def _in_template(table: SymbolTable, scopes: list[str]) -> Iterator[bytes]:
    """The names in a scope that is a class template, or in one: the arguments stand between the scopes."""
    for depth in range(1, len(scopes) + 1):
        later = rb"\w*?" + _source_name(scopes[-1]) if depth < len(scopes) else b""
        pattern = rb"\0(?=_ZN" + _QUALIFIERS + _mangled(scopes[:depth]) + b"I" + later + b")"
        for match in re.finditer(pattern, table.strings.view):
            yield table.strings.at(table.strings.start + match.end())


def _component(rest: bytes) -> tuple[str, bytes] | None:
    """The source name at the beginning of a mangled text, and what follows it."""
    match = re.match(rb"L?(\d{1,3})", rest)
    if match is None:
        return None
    end = match.end() + int(match[1])
    name, after = rest[match.end() : end].decode("ascii", "replace"), rest[end:]
    tag = re.match(rb"B(\d{1,3})", after)
    if tag is not None:  # an ABI tag, which nobody types
        after = after[tag.end() + int(tag[1]) :]
    return (name, after) if BEGINNING.fullmatch(name) and name not in _UNSPOKEN_NAMES else None
