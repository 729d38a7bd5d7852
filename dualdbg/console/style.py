"""Colours of a terminal, or no colours. Only this module decides how text looks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

# ECMA-48, "Select Graphic Rendition"; the sixteen colours that every terminal lets its user choose.
_CODES = {
    "native": "36",
    "python": "32",
    "glue": "2",
    "place": "2",
    "number": "2",
    "stop": "1",
    "selected": "1",
    "type": "33",
    "warning": "33",
    "error": "31",
}


@dataclass(frozen=True)
class Style:
    """How to write: ``width`` in columns (None: lines are never shortened), with colours or without."""

    width: int | None = None
    colour: bool = False

    def paint(self, kind: str, text: str) -> str:
        """The text in the colours of its kind, or as it is where there are no colours."""
        return f"\x1b[{_CODES[kind]}m{text}\x1b[0m" if self.colour and text else text

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str] = os.environ) -> Style:
        """The style for a stream. Only a terminal gets colours and a width (https://no-color.org)."""
        if not stream.isatty():
            return cls()
        colour = not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
        return cls(max(shutil.get_terminal_size().columns, 20), colour)
