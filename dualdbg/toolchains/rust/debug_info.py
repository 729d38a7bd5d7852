"""What gdb calls the functions of Rust that a user means: their whole paths, as the strings of debug info have them.

gdb finds a function of C++ by the end of its name, and one of Rust by its whole name alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...shared.elf import ElfFile
from ...shared.string_table import StringTable
from ...symbols.elf.debug_names import debug_strings
from ...symbols.names.name_query import Query
from .names import demangle_rust, rust_paths, scope_of_implementation

_MOST_NAMES = 300  # each is a question to gdb, which takes it some milliseconds
_MOST_IMPLEMENTATIONS = 20  # numbers of one scope that are tried
ANY_CLOSURE = "{{closure}}"
_NUMBERED = re.compile(r"\{\w+#\d+\}")


def meant_in_debug_info(elf: ElfFile, query: Query) -> list[str]:
    """The names to ask gdb for, of the functions in the debug info of ``elf`` that the query means, inlined or not."""
    strings = debug_strings(elf)
    outer, _, last = query.text.rpartition("::")
    if strings is None:
        return []
    if (closure := closure_in(query.text)) is not None:
        wanted = Query.of(f"{'::' * query.anchored}{outer}")
        around = dict.fromkeys([*meant_in_debug_info(elf, wanted), *_scopes_of_closures(strings, wanted)])
        there = dict.fromkeys(text for text in _strings(strings, "#") if closure.fullmatch(text))
        return [f"{scope}::{one}" for scope in around for one in there][:_MOST_NAMES]
    if not last.isidentifier():
        return []
    scopes: dict[str, None] = {}
    for linkage, name in _linkage_names(strings, last):
        if query.matches_rust(name):
            scopes.update(dict.fromkeys(_scopes(linkage, name)))
    if not scopes:
        return []
    instances = sorted({text for text in _strings(strings, f"{last}<") if text.startswith(f"{last}<")})
    return [f"{scope}::{ending}" for ending in (last, *instances) for scope in scopes][:_MOST_NAMES]


def closure_in(text: str) -> re.Pattern[str] | None:
    """What debug info may call the closure, or the body of an async function, that is the last part of a path.

    None where it is a function. ``{{closure}}`` is any one, as the legacy mangling has it.
    """
    last = text.rpartition("::")[2]
    if last == ANY_CLOSURE:
        return re.compile(r"\{(?:closure|async_\w+)#\d+\}")
    return re.compile(re.escape(last)) if _NUMBERED.fullmatch(last) else None


def is_in_debug_info(elf: ElfFile, name: str) -> bool:
    """Whether debug info knows a function of this path."""
    return bool(meant_in_debug_info(elf, Query.of(f"::{name}")))


def _scopes_of_closures(strings: StringTable, outer: Query) -> Iterator[str]:
    """The functions that are meant and have closures, also where the compiler has left nothing else of them."""
    named = next((part for part in reversed(outer.text.split("::")) if part.isidentifier()), None)
    for _, name in _linkage_names(strings, named) if named is not None else ():
        if closure_in(name) is not None:
            scope = name.rpartition("::")[0]
            if outer.matches_rust(scope):
                yield scope


def _linkage_names(strings: StringTable, last: str) -> Iterator[tuple[str, str]]:
    needles = [f"{len(last)}{last}"]
    if last.startswith(
        "_"
    ):  # then the newer mangling puts one more before it (RFC 2603, undisambiguated-identifier)
        needles.append(f"{len(last)}_{last}")
    for text in (text for needle in needles for text in _strings(strings, needle)):
        name = demangle_rust(text)
        if name is not None:
            yield text, name


def _strings(strings: StringTable, needle: str) -> Iterator[str]:
    for _, string in strings.holding(needle.encode()):
        yield string.decode("utf-8", "replace")


def _scopes(linkage: str, name: str) -> Iterator[str]:
    """Where debug info may have a function: in its module or type, or in a numbered ``impl``."""
    implementation = scope_of_implementation(linkage)
    if implementation is not None:
        yield implementation
    for path in rust_paths(name):
        yield "::".join(path[:-1])
    if implementation is None and re.match(r"<.* as ", name):  # the legacy mangling does not say which one
        for module in dict.fromkeys(path[:-2] for path in rust_paths(name)):
            for number in range(_MOST_IMPLEMENTATIONS):
                yield "::".join((*module, f"{{impl#{number}}}"))
