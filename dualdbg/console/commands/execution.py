"""Commands that let the target run on, stop it, or let go of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model import Reason
from .registry import command, no_argument, positive_number

if TYPE_CHECKING:
    from ..console import Console


@command("continue c cont", "", "run on until the next stop", repeats=True)
async def continue_(console: Console, argument: str) -> None:
    no_argument("continue", argument)
    await console.session.resume()


@command(
    "next n",
    "[COUNT]",
    "go to the next line, over calls",
    repeats=True,
    details="In the language of the selected thread. A breakpoint inside a call still stops.",
)
async def next_(console: Console, argument: str) -> None:
    await _step(console, "next", argument)


@command("step s", "[COUNT]", "go to the next line, into calls", repeats=True)
async def step(console: Console, argument: str) -> None:
    await _step(console, "step", argument)


@command("finish fin r return", "", "run until the current function returns", repeats=True)
async def finish(console: Console, argument: str) -> None:
    no_argument("finish", argument)
    await console.session.step("finish", tid=console.selected().tid)


@command(
    "until unt advance",
    "[PLACE]",
    "go to the next line and never back, or run to a place",
    completes="spec",
    repeats=True,
)
async def until(console: Console, argument: str) -> None:
    await console.session.step("until", argument or None, tid=console.selected().tid)


@command("pause interrupt", "", "stop the target wherever it is")
async def pause(console: Console, argument: str) -> None:
    no_argument("pause", argument)
    await console.session.pause()


@command("detach", "", "let go of the target: it runs on without us")
async def detach(console: Console, argument: str) -> None:
    no_argument("detach", argument)
    await console.session.detach()


@command("kill k", "", "end the target")
async def kill(console: Console, argument: str) -> None:
    no_argument("kill", argument)
    await console.session.kill()
    await console.settle()


async def _step(console: Console, kind: str, argument: str) -> None:
    for _ in range(positive_number(kind, argument, 1)):
        await console.session.step(kind, tid=console.selected().tid)
        await console.settle()
        stop = console.session.stop
        if stop is None or stop.reason is not Reason.STEP:
            return
