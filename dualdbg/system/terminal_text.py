"""Text from outside, made safe for the user's terminal: characters that would control it are shown as a sign.

Names of processes, threads, files and functions, command lines, and messages of the program may hold anything. The
front ends that write text send all of it through here.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from operator import is_
from typing import Any, TypeVar

T = TypeVar("T")

# Control characters (ECMA-48, C0 and C1), surrogates, which cannot be sent, and the ends of lines and paragraphs. And
# what turns the direction of writing (Unicode Standard Annex #9): with it a line is read in the wrong order.
_SIGNS = {
    **{code: 0x2400 + code for code in range(32)},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), 0xFFFD),
    **dict.fromkeys((0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}
_WITHOUT_TEXT = frozenset((type(None), bool, int, float))  # most fields of a report
_IN_TEXT = {code: sign for code, sign in _SIGNS.items() if chr(code) not in "\n\t"}


def visible(line: str) -> str:
    """One line. Each character that would control a terminal becomes a sign as wide as a letter, a tab spaces."""
    return line if line.isprintable() else line.replace("\t", " ").translate(_SIGNS)


def visible_text(text: str) -> str:
    """The same for text of several lines, which keeps its tabs too."""
    return text if text.isprintable() else text.translate(_IN_TEXT)


def cleaned(thing: T, texts: Mapping[type[Any], frozenset[str]] = {}) -> T:  # never changed
    """A report with every text in it :func:`visible`, however deep it lies: in data classes, tuples, lists, mappings.

    ``texts`` names the fields, by their class, that may have several lines.
    """
    return _cleaned(thing, texts)  # type: ignore[no-any-return]


def _cleaned(thing: Any, texts: Mapping[type[Any], frozenset[str]]) -> Any:
    kind = type(thing)
    if kind is str:  # not a member of an enumeration
        return visible(thing)
    if kind is tuple or kind is list:
        new = [_cleaned(part, texts) for part in thing]
        return thing if all(map(is_, thing, new)) else kind(new)
    names = _parts(kind)  # type: ignore[arg-type]
    if names is None:
        return {_cleaned(key, texts): _cleaned(value, texts) for key, value in thing.items()}
    if not names:
        return thing
    several = texts.get(kind, frozenset())
    changed = {}
    for name in names:
        old = getattr(thing, name)
        if type(old) in _WITHOUT_TEXT or (type(old) is str and old.isprintable()):
            continue
        new_value = visible_text(old) if name in several and type(old) is str else _cleaned(old, texts)
        if new_value is not old:
            changed[name] = new_value
    return dataclasses.replace(thing, **changed) if changed else thing


@functools.cache
def _parts(kind: type[Any]) -> tuple[str, ...] | None:
    """The fields of a data class; none where there is no text in things of this type; None for a mapping."""
    if issubclass(kind, Mapping):
        return None
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else ()
