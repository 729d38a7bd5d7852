"""What a picture of the documentation says, so that one made now can be held against the one that is there."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest

from scripts.transcripts import masked

_COLUMN = 12.2  # the width of a letter, as Rich draws it
_TEXT = re.compile(r'<text class="[^"]*" x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>')
_BYTES = re.compile(r"(\b[0-9a-f]{2} ){4,}[0-9a-f]{2}[^│]{0,19}")  # and the letters that they are
# What one run prints otherwise than another: numbers of processes and threads wherever they stand, of pipes, and the
# paths and columns that their length moves.
_VARIES = (
    (re.compile(r"\b\d{4,}\b"), "N"),
    (re.compile(r"-?\b\d+\.\d+(e-?\d+)?\b"), "X"),
    (re.compile(r"0x[0-9a-f]+"), "ADDRESS"),
    (re.compile(r"\S*/tmp\S*/"), "FOLDER/"),
    (re.compile(r" +(?=[\u2500-\u259f])"), ""),  # before a line or a block that is drawn
)


def lines_of(svg: str) -> list[str]:
    """The lines of text in a picture as Rich and Textual write it."""
    rows: dict[float, str] = defaultdict(str)
    for x, y, text in sorted(_TEXT.findall(svg), key=lambda part: (float(part[1]), float(part[0]))):
        line = rows[float(y)].ljust(round(float(x) / _COLUMN))  # what is only space is not in the picture
        rows[float(y)] = line + html.unescape(text).replace("\N{NO-BREAK SPACE}", " ").replace("\n", "")
    return [line.strip() for line in rows.values()]


def same_of(line: str) -> str:
    """A line without what differs from run to run."""
    line = masked(_BYTES.sub("BYTES", line))
    for pattern, text in _VARIES:
        line = pattern.sub(text, line)
    return line


def differences(there: str, now: str) -> Iterator[str]:
    """The lines of two pictures that say something else."""
    for number, (old, new) in enumerate(zip_longest(lines_of(there), lines_of(now), fillvalue=""), 1):
        if same_of(old) != same_of(new):
            yield f"line {number}:\n  - {old}\n  + {new}"
