"""The units of debug info: in which language each was written, and whether it was optimised (DWARF 4 and 5). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

_COMPILED = 1  # DW_UT_compile
_LANGUAGE, _PRODUCER = 0x13, 0x25  # attributes
_STRING, _TEXT, _NUMBER = 0x0E, 0x08, 0x0B  # forms: an offset of .debug_str, the text itself, a byte
_IMPLICIT_CONST = 0x21  # a form whose value is in the abbreviation
# Forms of as many bytes each (DWARF 5, 7.5.6), where offsets have four.
_SIZES = {
    0x01: 8,
    0x05: 2,
    0x06: 4,
    0x07: 8,
    _NUMBER: 1,
    _STRING: 4,
    0x17: 4,
    0x19: 0,
    0x1F: 4,
    _IMPLICIT_CONST: 0,
}


class UnknownForm(Exception):
    """The debug info is of a form that is not read here."""


@dataclass(frozen=True)
class Abbreviation:
    """An abbreviation: its code, its tag and where that stands in the table, and its attributes, each with its place in
    the table and its form.
    """

    code: int
    at: int
    tag: int
    attributes: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Unit:
    """A unit: its ``language`` (DW_LANG), ``at`` which byte of the section that is, and what the compiler says."""

    language: int
    at: int
    producer: str


def abbreviations(table: bytes, at: int = 0) -> Iterator[Abbreviation]:
    """Those of all tables from an offset of the section on; a code of 0 ends a table, and comes with no attributes.

    :raises IndexError: the section is cut off.
    """
    while at < len(table):
        code, at = number(table, at)
        if code == 0:
            yield Abbreviation(0, at, 0, ())
            continue
        tag, behind = number(table, at)
        place, at = at, behind + 1  # whether it has children
        found = []
        attribute = form = -1
        while attribute or form:
            stands = at
            attribute, at = number(table, at)
            form, at = number(table, at)
            if form == _IMPLICIT_CONST:
                _, at = number(table, at)
            found.append((stands, attribute, form))
        yield Abbreviation(code, place, tag, tuple(found[:-1]))


def number(data: bytes, at: int) -> tuple[int, int]:
    """A number in LEB128, and where what is behind it begins."""
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1


def units(info: bytes, table: bytes, text_at: Callable[[int], str]) -> Iterator[Unit]:
    """All units of ``.debug_info``, whose abbreviations are in ``table``. ``text_at`` reads ``.debug_str``.

    :raises UnknownForm, IndexError: it has another form, or is cut off.
    """
    at = 0
    while at < len(info):
        length, version = int.from_bytes(info[at : at + 4], "little"), info[at + 4]
        if length >= 0xFFFFFFF0 or version not in (4, 5) or (version == 5 and info[at + 6] != _COMPILED):
            raise UnknownForm
        begins = at + (12 if version == 5 else 11)
        offset = begins - 4 if version == 5 else at + 6
        own = int.from_bytes(info[offset : offset + 4], "little")
        yield _unit(info, begins, table, own, text_at)
        at += 4 + length


def _unit(info: bytes, at: int, table: bytes, offset: int, text_at: Callable[[int], str]) -> Unit:
    code, at = number(info, at)
    first = next((one for one in abbreviations(table, offset) if one.code in (code, 0)), None)
    if first is None or first.code == 0:
        raise UnknownForm
    producer = language = None
    for _, attribute, form in first.attributes:
        if form not in _SIZES and form != _TEXT:
            raise UnknownForm
        end = info.index(0, at) + 1 if form == _TEXT else at + _SIZES[form]
        if attribute == _PRODUCER and form == _STRING:
            producer = text_at(int.from_bytes(info[at:end], "little"))
        if attribute == _LANGUAGE and form == _NUMBER:
            language = at
        if producer is not None and language is not None:
            return Unit(info[language], language, producer)
        at = end
    raise UnknownForm
