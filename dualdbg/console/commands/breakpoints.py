"""Commands that set, change and list breakpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CommandError
from ...model import Breakpoint
from ..reports import BreakpointsReport
from .registry import command

if TYPE_CHECKING:
    from ..console import Console

_SPEC = (
    "SPEC is an operator (randn), a function, FILE:LINE or a LINE of the current file; if CONDITION, hits N …"
)


@command("break b", "[SPEC]", "set a breakpoint; without SPEC: list them", completes="spec", details=_SPEC)
async def break_(console: Console, argument: str) -> None:
    if not argument:
        console.show(BreakpointsReport(tuple(console.session.breakpoints.all())))
        return
    await console.session.breakpoints.add(await with_file(console, argument))


@command("tbreak tb", "SPEC", "set a breakpoint that stops once", completes="spec", details=_SPEC)
async def tbreak(console: Console, argument: str) -> None:
    if not argument:
        raise CommandError("tbreak wants to know where", "help tbreak")
    await console.session.breakpoints.add(await with_file(console, argument), temporary=True)


@command("delete del", "[NUMBER…]", "remove breakpoints; without NUMBER: all")
async def delete(console: Console, argument: str) -> None:
    for row in _chosen(console, argument):
        await console.session.breakpoints.remove(row.id)


@command("disable dis", "[NUMBER…]", "keep breakpoints without stopping at them; without NUMBER: all")
async def disable(console: Console, argument: str) -> None:
    for row in _chosen(console, argument):
        await console.session.breakpoints.enable(row.id, False)


@command("enable en", "[NUMBER…]", "stop at breakpoints again; without NUMBER: all")
async def enable(console: Console, argument: str) -> None:
    for row in _chosen(console, argument):
        await console.session.breakpoints.enable(row.id, True)


def _chosen(console: Console, argument: str) -> list[Breakpoint]:
    table = console.session.breakpoints
    words = argument.replace(",", " ").removeprefix("breakpoints ").split()
    for word in words:
        if not word.isdecimal():
            raise CommandError(f"{word!r} is no number of a breakpoint", "info breakpoints lists them")
    return [table.get(int(word)) for word in words] if words else table.all()


async def with_file(console: Console, spec: str) -> str:
    """``12 if x`` means line 12 of the selected frame's file."""
    first, _, rest = spec.partition(" ")
    if not first.isdecimal():
        return spec
    file = (await console.frame()).file
    if file is None:
        raise CommandError(
            f"the selected frame has no source file that could have a line {first}", "give FILE:LINE"
        )
    return f"{file}:{first} {rest}".rstrip()
