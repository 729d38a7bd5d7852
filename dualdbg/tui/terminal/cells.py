"""What a character cell of a terminal holds: a character and how it looks."""

from __future__ import annotations

from typing import Any, NamedTuple, Union

Colour = Union[None, int, "tuple[int, int, int]"]
"""The terminal's default, a number of the 256-colour palette, or red, green and blue."""


class Look(NamedTuple):
    """How a character looks (ECMA-48, Select Graphic Rendition)."""

    foreground: Colour = None
    background: Colour = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False
    strike: bool = False
    conceal: bool = False


PLAIN = Look()


class Row:
    """One line of cells. The second cell of a wide character holds an empty text.

    ``goes_on``: the text was too long for the row, and goes on in the next one behind so many cells; 0: it ends here.
    """

    __slots__ = ("goes_on", "looks", "texts")

    def __init__(self, width: int, look: Look = PLAIN) -> None:
        self.texts = [" "] * width
        self.looks = [look] * width
        self.goes_on = 0

    def resize(self, width: int) -> None:
        """Cut it, or fill it with blanks, to ``width`` cells."""
        missing = width - len(self.texts)
        if missing > 0:
            self.texts += [" "] * missing
            self.looks += [PLAIN] * missing
        else:
            del self.texts[width:]
            del self.looks[width:]

    def runs(self) -> list[tuple[str, Look]]:
        """The text in pieces of one look, without what is blank at the end."""
        texts, looks = self.texts, self.looks
        end = len(texts)
        while end and texts[end - 1] == " " and looks[end - 1] == PLAIN:
            end -= 1
        pieces: list[tuple[str, Look]] = []
        start = 0
        while start < end:
            look = looks[start]
            stop = start + 1
            while stop < end and looks[stop] == look:
                stop += 1
            pieces.append(("".join(texts[start:stop]), look))
            start = stop
        return pieces

    def text(self) -> str:
        """The text without what is blank at its end."""
        return "".join(self.texts).rstrip()


def select(look: Look, codes: list[int]) -> Look:
    """``look`` after the parameters of one SGR sequence. Unknown parameters change nothing."""
    at = 0
    while at < len(codes):
        code = codes[at]
        at += 1
        if code in _CHANGES:
            look = PLAIN if code == 0 else look._replace(**_CHANGES[code])
        elif 30 <= code <= 37 or 90 <= code <= 97:
            look = look._replace(foreground=code - 30 if code < 90 else code - 82)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            look = look._replace(background=code - 40 if code < 100 else code - 92)
        elif code in (38, 48):
            colour, at = _extended(codes, at)
            if colour is not None:
                look = look._replace(foreground=colour) if code == 38 else look._replace(background=colour)
    return look


def _extended(codes: list[int], at: int) -> tuple[Colour, int]:
    """The colour after 38 or 48 (ISO 8613-6: ``5;N`` or ``2;R;G;B``), and where the next parameter is."""
    if codes[at : at + 1] == [5] and len(codes) > at + 1:
        return codes[at + 1] & 255, at + 2
    if codes[at : at + 1] == [2] and len(codes) > at + 3:
        red, green, blue = (value & 255 for value in codes[at + 1 : at + 4])
        return (red, green, blue), at + 4
    return None, len(codes)


_CHANGES: dict[int, dict[str, Any]] = {
    0: {},
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underline": True},
    7: {"reverse": True},
    8: {"conceal": True},
    9: {"strike": True},
    21: {"underline": True},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": False},
    27: {"reverse": False},
    28: {"conceal": False},
    29: {"strike": False},
    39: {"foreground": None},
    49: {"background": None},
}
