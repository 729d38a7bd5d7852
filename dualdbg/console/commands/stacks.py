"""Commands that show the stack and choose a frame of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import CommandError
from ...known.short_names import short_function
from ...model import Stack, Thread
from ..reports import FrameReport, StackReport, numbered
from .registry import command, positive_number

if TYPE_CHECKING:
    from ..console import Console

_OPTIONS = {"--all": "all", "-a": "all", "--all-threads": "all_threads"}


@command(
    "bt where w backtrace",
    "[--all] [--all-threads] [COUNT]",
    "show the stack, both languages in one, innermost frame first",
    details="--all shows the interpreter's own frames and full names too. A negative COUNT means the outermost frames.",
)
async def backtrace(console: Console, argument: str) -> None:
    """Show the stack of the selected thread, or of all threads. Raises CommandError for an unknown option."""
    flags: set[str] = set()
    limit: int | None = None
    for word in argument.split():
        if word in _OPTIONS:
            flags.add(_OPTIONS[word])
        elif re.fullmatch(r"-?\d+", word):
            limit = int(word)
        else:
            raise CommandError(f"bt does not know {word!r}", "help bt")
    if "all_threads" not in flags:
        stack = await console.stack()
        console.show(_report(stack, "all" in flags, limit, console.selected().number, None))
        return
    current = console.selected()
    for thread in await console.session.inspector.threads():
        stack = await console.session.inspector.stack(thread.tid)
        selected = current.number if thread.tid == current.tid else None
        console.show(_report(stack, "all" in flags, limit, selected, thread))


def _report(
    stack: Stack, all_frames: bool, limit: int | None, selected: int | None, thread: Thread | None
) -> StackReport:
    frames = numbered(stack, all_frames)
    kept = frames if limit is None else frames[:limit] if limit >= 0 else frames[limit:]
    return StackReport(stack, kept, selected, len(frames) - len(kept), thread, all_frames)


@command("up u", "[COUNT]", "select the caller of the selected frame", repeats=True)
async def up(console: Console, argument: str) -> None:
    await _move(console, positive_number("up", argument, 1))


@command("down d", "[COUNT]", "select the frame that the selected one called", repeats=True)
async def down(console: Console, argument: str) -> None:
    await _move(console, -positive_number("down", argument, 1))


@command("frame f fr", "[NUMBER | function NAME]", "show the selected frame, or select one")
async def frame(console: Console, argument: str) -> None:
    """Show the selected frame, or select one by its number or function. Raises CommandError where there is none."""
    number = console.selected().number
    how, _, name = argument.partition(" ")
    if how == "function" and name.strip():
        number = await _of_function(console, name.strip())
    elif argument:
        if not argument.isdecimal():
            raise CommandError(f"frame wants a number, but was given {argument!r}", "bt shows the numbers")
        number = int(argument)
    await select(console, number)


async def _of_function(console: Console, name: str) -> int:
    """The innermost frame of a function: its name, or the end of it, ``Model.step`` or ``native::randn``."""
    for number, one in enumerate((await console.stack()).visible()):
        function = short_function(one.function or "", None)
        if function == name or function.endswith((f".{name}", f"::{name}")):
            return number
    raise CommandError(f"no frame of this thread is of a function {name}", "bt shows the stack")


async def select(console: Console, number: int) -> None:
    """Select a frame of the current thread and show it."""
    frames = (await console.stack()).visible()
    if not 0 <= number < len(frames):
        raise CommandError(f"there is no frame {number}", f"the stack has frames 0 to {len(frames) - 1}: bt")
    console.selection = replace(console.selected(), number=number)
    console.listing = None
    console.show(FrameReport(number, frames[number]))


async def _move(console: Console, by: int) -> None:
    number = console.selected().number
    last = len((await console.stack()).visible()) - 1
    target = min(max(number + by, 0), last)
    if target == number:
        end = "outermost" if by > 0 else "innermost"
        raise CommandError(f"frame {number} is the {end} one", "bt shows the stack")
    await select(console, target)
