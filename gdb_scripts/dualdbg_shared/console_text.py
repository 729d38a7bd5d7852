"""The text of a command of gdb, as Python code that runs in gdb gets it.

gdb 18 gives it as records of MI where MI has called the Python code, and among them what it notifies MI of
(=breakpoint-modified). Sources: gdb/mi/mi-console.c, gdb/mi/mi-interp.c.
"""

from __future__ import annotations

import re

_RECORDS = re.compile(r'(?:[~&@]"(?:[^"\\]|\\.)*"\n|=[a-z-]+,[^\n]*\n)+')
_RECORD = re.compile(r'^[~&@]"((?:[^"\\]|\\.)*)"\n', re.MULTILINE)
_ESCAPE = re.compile(r"(?:\\[0-7]{3})+|\\.")
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "e": "\033"}


def plain(text: str) -> str:
    """``text`` of ``gdb.execute(..., to_string=True)`` as it would be shown."""
    if _RECORDS.fullmatch(text) is None:
        return text
    return "".join(_ESCAPE.sub(_meant, inner) for inner in _RECORD.findall(text))


def _meant(escape: "re.Match[str]") -> str:
    numbers = escape[0].split("\\")[1:]
    if len(numbers[0]) == 3:  # bytes of UTF-8
        return bytes(int(number, 8) & 255 for number in numbers).decode("utf-8", "replace")
    return _SHORT.get(escape[0][1], escape[0][1])
