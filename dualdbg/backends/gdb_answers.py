"""What our commands in gdb answer becomes facts. Pure: an answer of another form raises one of :data:`OTHER_FORM`."""

from __future__ import annotations

from typing import Any, TypeVar

OTHER_FORM = (
    OSError,
    ValueError,
    RecursionError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
)
"""What the reading of JSON and of files, and the functions below, raise for what is not the answer."""

T = TypeVar("T")


def nothing(_answer: Any) -> None:
    """Of a command without an answer."""
    return


def text_or_none(answer: Any) -> str | None:
    """A text, or None where gdb knows none."""
    return None if answer is None else str(answer)
