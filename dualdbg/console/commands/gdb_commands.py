"""gdb's own commands that its users type out of habit, passed on in the selected thread and frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CommandError
from ..reports import TextReport
from .registry import command

if TYPE_CHECKING:
    from ..console import Console

_WORDS = (
    ("watch", "EXPRESSION", "stop where a native value changes"),
    ("rwatch", "EXPRESSION", "stop where a native value is read"),
    ("awatch", "EXPRESSION", "stop where a native value is read or written"),
    ("x", "[/FORMAT] ADDRESS", "show memory"),
    ("ptype", "EXPRESSION", "show the type of a native value, with its members"),
    ("whatis", "EXPRESSION", "show the type of a native value"),
)
_PLACES = (
    "gdb calls nothing for this, no operator [] of a class either: name the place, v._M_impl._M_start[1]"
)
_HINTS = dict.fromkeys(("watch", "rwatch", "awatch"), _PLACES)


def _register(word: str, usage: str, summary: str) -> None:
    @command(word, usage, summary, details=f"gdb's own: gdb help {word} says more. Native expressions only.")
    async def pass_on(console: Console, argument: str) -> None:
        if not argument:
            raise CommandError(f"{word} wants an expression", f"help {word}")
        gap = "" if argument.startswith("/") else " "
        try:
            told = await console.ask_gdb(f"{word}{gap}{argument}")
        except CommandError as error:
            raise CommandError(error.message, error.hint or _HINTS.get(word, "")) from None
        console.show(TextReport(told))


for _row in _WORDS:
    _register(*_row)
