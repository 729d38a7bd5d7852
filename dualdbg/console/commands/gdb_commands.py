"""gdb's own commands that its users type out of habit, passed on in the selected thread and frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CommandError
from ..reports import TextReport
from .registry import command

if TYPE_CHECKING:
    from ..console import Console

_WORDS = (
    ("x", "[/FORMAT] ADDRESS", "show memory"),
    ("ptype", "EXPRESSION", "show the type of a native value, with its members"),
    ("whatis", "EXPRESSION", "show the type of a native value"),
)


def _register(word: str, usage: str, summary: str) -> None:
    details = f"gdb's own: gdb help {word} says more. Native expressions only."

    @command(word, usage, summary, details=details, completes="expression")
    async def pass_on(console: Console, argument: str) -> None:
        if not argument:
            raise CommandError(f"{word} wants an expression", f"help {word}")
        gap = "" if argument.startswith("/") else " "
        console.show(TextReport(await console.ask_gdb(f"{word}{gap}{argument}")))


for _row in _WORDS:
    _register(*_row)
