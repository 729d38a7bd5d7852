"""Commands that show values: variables of a frame, expressions of either language, registers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...errors import CommandError
from ...model import Language, NativeFrame
from ..reports import ValueReport, VariablesReport
from .registry import command, no_argument

if TYPE_CHECKING:
    from ..console import Console


@command("locals", "", "show the variables of the selected frame")
async def locals_(console: Console, argument: str) -> None:
    no_argument("locals", argument)
    frame = await console.frame()
    values = await console.session.inspector.variables(console.selected().tid, frame)
    empty = "No locals."
    if isinstance(frame, NativeFrame) and frame.line is None:
        empty = "No locals: this function has no debug info."
    console.show(VariablesReport("locals", tuple(values), empty))


@command("print p pp", "[/FORMAT] EXPRESSION", "show a value, in the language of the selected frame")
async def print_(console: Console, argument: str) -> None:
    frame = await console.frame()
    await _evaluate(console, "print", argument, frame.language)


@command(
    "py", "EXPRESSION", "show the value of a Python expression, or run a statement, in the selected frame"
)
async def py(console: Console, argument: str) -> None:
    await _evaluate(console, "py", argument, Language.PYTHON)


@command("cpp", "[/FORMAT] EXPRESSION", "show the value of a C++ expression in the selected frame")
async def cpp(console: Console, argument: str) -> None:
    await _evaluate(console, "cpp", argument, Language.NATIVE)


async def _evaluate(console: Console, name: str, argument: str, language: Language) -> None:
    format_, expression = _split_format(argument)
    if not expression:
        raise CommandError(f"{name} wants an expression", f"help {name}")
    if format_ and language is Language.PYTHON:
        if format_ not in _PYTHON_FORMATS:
            raise CommandError(
                f"there is no format /{format_} for Python values", f"formats: {', '.join(_PYTHON_FORMATS)}"
            )
        expression = _PYTHON_FORMATS[format_].format(expression)
    inspector = console.session.inspector
    value = await inspector.evaluate(expression, console.selected().tid, await console.frame(), language)
    console.show(ValueReport(expression, value))


def _split_format(argument: str) -> tuple[str, str]:
    match = re.match(r"/(\w+)\s+", argument)
    return (match.group(1), argument[match.end() :]) if match else ("", argument)


_PYTHON_FORMATS = {
    "x": "hex({})",
    "o": "oct({})",
    "t": "bin({})",
    "d": "int({})",
    "c": "chr({})",
    "s": "str({})",
}
