"""Who calls native functions, how often and with what, while the program runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import CommandError
from ..traces import report_so_far
from .breakpoints import with_file
from .registry import command

if TYPE_CHECKING:
    from ..console import Console

# Where to see what a report leaves out.
ALL_FUNCTIONS = "info breakpoints lists their places"
ALL_CALLERS = "dualdbg trace --folded FILE has all"

_TIME = "--time"


@command(
    "trace",
    "[--time] [SPEC…]",
    "take down who calls functions, and how often; without SPEC: what was found so far",
    details="Each SPEC is a breakpoint that counts and never stops; one with spaces is put in quotes. --time: how long "
    "calls took. The report comes by itself when the program ends. info breakpoints lists what is traced, delete ends "
    "it.",
    completes="option spec",
)
async def trace(console: Console, argument: str) -> None:
    # With machine code, of which most sessions want nothing.
    from ...session.traced import add, specs_in

    word, _, rest = argument.partition(" ")
    is_timed = word == _TIME
    texts = specs_in(rest if is_timed else argument)
    if texts:
        await add(console.session, [await with_file(console, text) for text in texts], is_timed)
        return
    if is_timed:
        raise CommandError(f"trace {_TIME} wants to know what", "help trace")
    report = await report_so_far(console.session)
    if report is None:
        raise CommandError(
            "nothing is traced", "trace SPEC begins: trace malloc, or trace --time mylib::solve"
        )
    console.show(report)
