"""Pure: in which format a native value is to be shown, by the client's words and by those of cppdbg's users."""

from __future__ import annotations

import re

from ..client.arguments import Arguments

# Behind the last comma (learn.microsoft.com, "Format specifiers for C++ in the Visual Studio debugger"):
# gdb's letter; none where gdb shows such values so by itself.
_SPECIFIERS = {
    **dict.fromkeys(("x", "X", "h", "H", "xb", "Xb", "hb", "Hb"), "x"),
    **dict.fromkeys(("b", "bb"), "t"),
    "d": "d",
    "o": "o",
    "c": "c",
    **dict.fromkeys(("e", "g", "s", "sb", "s8", "su", "s32", "na", "nd", "nvo"), ""),
}
_COUNT = re.compile(r"\[?(\d{1,9})\]?")


def style_of(arguments: Arguments) -> str:
    """gdb's letter for what the client wants of all values; empty for the usual format."""
    return "x" if arguments.object("format").flag("hex") else ""


def without_specifier(expression: str) -> tuple[str, str]:
    """The expression that gdb is to evaluate, and gdb's letter of a format.

    ``n,x`` is n in hexadecimal, ``pointer,5`` an array of five. No text, call or index ends in such a word.
    """
    value, comma, word = expression.rpartition(",")
    word = word.strip()
    if not comma or not value.strip():
        return expression, ""
    if word in _SPECIFIERS:
        return value, _SPECIFIERS[word]
    count = _COUNT.fullmatch(word)
    if count is not None and int(count[1]) > 0:
        return f"*({value})@{int(count[1])}", ""
    return expression, ""
