"""Breaks lines anew for another width, as VTE and tmux do: what goes on in the next row is joined first. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, Union

from rich.cells import cell_len

from .cells import PLAIN, Look, Row, select

COLOUR = re.compile(r"\x1b\[([\d;]*)m")

Line = Union[Row, str]
"""A line of the history: cells, or a text with its colour sequences, which nobody has looked at yet and which fits."""


class Place(NamedTuple):
    """A cell of a row; ``x`` may be the width: behind the last one."""

    row: int
    x: int


def reflow(rows: Sequence[Row], columns: int, places: Sequence[Place]) -> tuple[list[Row], list[Place]]:
    """The rows for ``columns`` columns, and where ``places`` are in them.

    Blanks at the end of a line take no row of their own, unless one of the places lies there.
    """
    broken: list[Row] = []
    moved = list(places)
    for first, line in _lines(rows):
        texts, looks, starts = _joined(line)
        offsets = {
            number: starts[row - first] + x
            for number, (row, x) in enumerate(places)
            if first <= row < first + len(line)
        }
        pieces = _pieces(texts, max(_used(texts), *offsets.values(), 0), columns)
        for number, offset in offsets.items():
            # The last piece that begins there or before: behind a full row is the beginning of the next one, if any.
            piece = max(at for at, (start, _) in enumerate(pieces) if start <= offset)
            moved[number] = Place(len(broken) + piece, offset - pieces[piece][0])
        for start, end in pieces:
            row = Row(0)
            row.texts, row.looks = texts[start:end], looks[start:end]
            row.resize(columns)
            row.goes_on = end - start
            broken.append(row)
        broken[-1].goes_on = 0
    return broken, moved


def _lines(rows: Sequence[Row]) -> Iterator[tuple[int, Sequence[Row]]]:
    """The number of each line's first row, and its rows."""
    first = 0
    for number, row in enumerate(rows, 1):
        if not row.goes_on or number == len(rows):
            yield first, rows[first:number]
            first = number


def _joined(line: Sequence[Row]) -> tuple[list[str], list[Look], list[int]]:
    """The cells of a line, and where each of its rows begins among them."""
    texts: list[str] = []
    looks: list[Look] = []
    starts: list[int] = []
    for row in line:
        starts.append(len(texts))
        # A letter behind that was written there later.
        end = None if row is line[-1] or set(row.texts[row.goes_on :]) - {" "} else row.goes_on
        texts += row.texts[:end]
        looks += row.looks[:end]
    return texts, looks, starts


def _used(texts: Sequence[str]) -> int:
    """The number of cells up to the last one that is not blank."""
    text = "".join(texts)
    return len(texts) - (len(text) - len(text.rstrip(" ")))


def _pieces(texts: Sequence[str], used: int, columns: int) -> list[tuple[int, int]]:
    """Where each row begins and ends. A wide character is not cut in two where there is room for it."""
    pieces = []
    start = 0
    while used - start > columns:
        end = start + columns
        if texts[end] == "" and columns > 1:
            end -= 1
        pieces.append((start, end))
        start = end
    return [*pieces, (start, used)]


# -- lines that nobody has looked at yet ----------------------------------------------------------


def as_row(text: str) -> Row:
    """The cells of a text with colour sequences, in one row that is as long as the text."""
    row = Row(0)
    look = PLAIN
    for number, piece in enumerate(COLOUR.split(text)):
        if number % 2:
            look = select(look, [int(code) if code else 0 for code in piece.split(";")])
        elif piece.isascii():
            row.texts += piece
            row.looks += [look] * len(piece)
        else:
            for letter in piece:
                width = cell_len(letter)
                if width:
                    row.texts += [letter, ""][:width]
                    row.looks += [look] * width
                elif row.texts:  # an accent
                    row.texts[-1 if row.texts[-1] else -2] += letter
    return row


def fitting(texts: Iterable[str], columns: int) -> Iterator[Line]:
    """Texts with colour sequences as lines of ``columns`` columns: those that fit as they are."""
    for text in texts:
        # Most texts are told by the first two, which are quick.
        if (len(text) <= columns and text.isascii()) or cell_len(COLOUR.sub("", text)) <= columns:
            yield text
        else:
            yield from reflow([as_row(text)], columns, [])[0]


def refit(lines: Iterable[Line], columns: int) -> Iterator[Line]:
    """Lines of the history for another width."""
    for is_text, run in groupby(lines, lambda line: isinstance(line, str)):
        if is_text:
            yield from fitting((line for line in run if isinstance(line, str)), columns)
        else:
            yield from reflow([line for line in run if isinstance(line, Row)], columns, [])[0]
