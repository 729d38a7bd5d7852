"""gdb's own commands that its users type out of habit, passed on in the selected thread and frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CommandError
from ...model import Language
from ..reports import TextReport
from .registry import command

if TYPE_CHECKING:
    from ..console import Console

_WORDS = (
    ("x", "[/FORMAT] ADDRESS", "show memory", "Native expressions only."),
    (
        "ptype",
        "EXPRESSION",
        "show the type of a value; of a native one its members too",
        "Of Python the name.",
    ),
    ("whatis", "EXPRESSION", "show the type of a value", "Of Python the name."),
)


def _register(word: str, usage: str, summary: str, of_python: str) -> None:
    details = f"gdb's own: gdb help {word} says more. {of_python}"

    @command(word, usage, summary, details=details, completes="expression")
    async def pass_on(console: Console, argument: str) -> None:
        if not argument:
            raise CommandError(f"{word} wants an expression", f"help {word}")
        frame = await console.python_frame() if word != "x" else None
        if frame is not None:
            tid = console.selected().tid
            value = await console.session.inspector.evaluate(argument, tid, frame, Language.PYTHON)
            console.show(TextReport(f"type = {value.type}\n"))
            return
        gap = "" if argument.startswith("/") else " "
        console.show(TextReport(await console.ask_gdb(f"{word}{gap}{argument}")))


for _row in _WORDS:
    _register(*_row)
