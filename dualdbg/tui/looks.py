"""The names of everything that can look different; what each looks like is in dashboard.tcss."""

from __future__ import annotations

from collections.abc import Sequence

Part = tuple[str, str]
"""A piece of text and the name of its look, "" for plain."""

LOOKS = (
    # lines
    "cursor", "cursor-away", "current", "found", "selected",
    # frames and values
    "python", "native", "glue", "dim", "type", "name", "changed", "warning", "error", "good", "title",
    # breakpoints in the gutter
    "enabled", "disabled", "pending",
    # source
    "number", "keyword", "string", "comment", "function", "constant", "operator", "builtin", "preprocessor",
)  # fmt: skip


# What a target's text must not send to the user's terminal: control characters, and surrogates, which cannot be sent.
_INVISIBLE = {
    **{code: 0x2400 + code for code in range(32)},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), 0xFFFD),
}
_IN_TEXT = {code: sign for code, sign in _INVISIBLE.items() if chr(code) not in "\n\t"}


def visible(line: str) -> str:
    """A line with signs in the place of control characters, each as wide as one letter; tabs are spaces."""
    return line if line.isprintable() else line.replace("\t", " ").translate(_INVISIBLE)


def visible_text(text: str) -> str:
    """The same for text of several lines."""
    return text.translate(_IN_TEXT)


def plain(parts: Sequence[Part]) -> str:
    return "".join(text for text, _ in parts)


def fit(text: str, width: int) -> str:
    """``text`` in at most ``width`` columns; what is cut off is marked."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"
