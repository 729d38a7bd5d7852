"""The names of the looks of text. dashboard.tcss says what each looks like."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, get_character_cell_size

Part = tuple[str, str]
"""A piece of text and the name of its look, "" for plain."""

LOOKS = (
    # lines
    "cursor", "cursor-away", "current", "found", "selected",
    # frames and values
    "python", "native", "glue", "dim", "type", "name", "changed", "warning", "error", "good", "title",
    # breakpoints in the gutter
    "enabled", "disabled", "pending", "uncertain",
    # source
    "number", "keyword", "string", "comment", "function", "constant", "operator", "builtin", "preprocessor",
)  # fmt: skip


def plain(parts: Sequence[Part]) -> str:
    """The text of parts, without their looks."""
    return "".join(text for text, _ in parts)


def fit(text: str, width: int) -> str:
    """``text`` in at most ``width`` columns of the terminal; what is cut off is marked."""
    return text if cell_len(text) <= width else text[: letters_in(text, max(width - 1, 0))] + "…"


def letters_in(text: str, width: int) -> int:
    """How many characters of ``text`` have room in ``width`` columns: those of East Asia and emoji take two."""
    if text.isascii():
        return min(len(text), max(width, 0))
    for count, letter in enumerate(text):
        width -= get_character_cell_size(letter)
        if width < 0:
            return count
    return len(text)
