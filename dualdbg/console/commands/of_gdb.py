"""Words of gdb's that its users type without thinking, passed on in the selected thread and frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CommandError
from ..reports import TextReport
from .registry import command

if TYPE_CHECKING:
    from ..console import Console

_WHERE = "gdb's own: gdb help {} says more. Native expressions only."


async def _pass_on(console: Console, verb: str, argument: str) -> None:
    if not argument:
        raise CommandError(f"{verb} wants an expression", f"help {verb}")
    gap = "" if argument.startswith("/") else " "
    console.show(TextReport(await console.ask_gdb(f"{verb}{gap}{argument}")))


@command("watch", "EXPRESSION", "stop where a native value changes", details=_WHERE.format("watch"))
async def watch(console: Console, argument: str) -> None:
    await _pass_on(console, "watch", argument)


@command("rwatch", "EXPRESSION", "stop where a native value is read", details=_WHERE.format("rwatch"))
async def rwatch(console: Console, argument: str) -> None:
    await _pass_on(console, "rwatch", argument)


@command(
    "awatch", "EXPRESSION", "stop where a native value is read or written", details=_WHERE.format("awatch")
)
async def awatch(console: Console, argument: str) -> None:
    await _pass_on(console, "awatch", argument)


@command("x", "[/FORMAT] ADDRESS", "show memory", details=_WHERE.format("x"))
async def x(console: Console, argument: str) -> None:
    await _pass_on(console, "x", argument)


@command(
    "ptype", "EXPRESSION", "show the type of a native value, with its members", details=_WHERE.format("ptype")
)
async def ptype(console: Console, argument: str) -> None:
    await _pass_on(console, "ptype", argument)


@command("whatis", "EXPRESSION", "show the type of a native value", details=_WHERE.format("whatis"))
async def whatis(console: Console, argument: str) -> None:
    await _pass_on(console, "whatis", argument)
