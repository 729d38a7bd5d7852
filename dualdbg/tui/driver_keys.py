"""What Textual's driver makes of keys, where that is not what the terminal means."""

from __future__ import annotations

from enum import Enum
from typing import Any, cast

from textual import _ansi_sequences

from .terminal.keys import NAMED

_CHARACTERS = {**NAMED, **{digit: digit for digit in "0123456789"}}  # by the key's name
_ALT = Enum("_ALT", {name: f"alt+{name}" for name in _CHARACTERS})  # type: ignore[misc]  # mypy wants a literal


def alt_is_alt() -> None:
    """Take escape and a digit for alt and that digit, which is what xterm sends (ctlseqs, "Alt and Meta Keys").

    Textual's table has what a Mac's keyboard has on Option and a digit instead: ¡ for 1, £ for 3; so does it for ``-``
    and ``=``. Such a letter would be typed in the prompt, or come to the program. The letters themselves, from a
    keyboard that has them, are other bytes, and stay what they are.
    """
    table = cast("dict[str, Any]", _ansi_sequences.ANSI_SEQUENCES_KEYS)
    for key, character in zip(_ALT, _CHARACTERS.values(), strict=True):
        table[f"\x1b{character}"] = (key,)
