"""Commands that nobody types: from -x, from --batch, or from a standard input that is not a terminal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from functools import partial

from ..console.console import Console, Quit
from ..console.reports import CommandReport, ErrorReport
from ..model import Notice
from ..system.locale_encoding import decoded


async def run_commands(console: Console, commands: Sequence[str], somebody_waits: bool) -> None:
    """Run the commands in order, from the first stop on; each waits until the target stands still again.

    Raises Quit, after saying so, where that would be for ever; but not while ``somebody_waits`` who can press Ctrl-C.
    """
    settle = console.settle if somebody_waits else partial(_settle, console)
    for number, command in enumerate(commands):
        await settle()
        if console.ended:
            left = ", ".join(commands[number:])
            console.show(Notice("warning", f"not done, because the session is over: {left}"))
            return
        if not console.structured:
            typed = console.interaction
            console.show(CommandReport(command) if typed is None else CommandReport(command, typed.prompt))
        await console.execute(command)
    await settle()


async def show_every_stop(console: Console) -> None:
    """A batch without commands: the stack of every stop, and on to the end. Raises Quit as :func:`run_commands`."""
    await _settle(console)
    while not console.ended:
        await console.execute("bt")
        await console.execute("continue")
        await _settle(console)


async def _settle(console: Console) -> None:
    await console.settle(console.waits_in_vain)
    if not console.stopped and not console.ended and console.waits_in_vain():
        console.failed = True
        # Each breakpoint has said why.
        text = "nothing would stop the program: all breakpoints are in Python code, and none can be set"
        console.show(ErrorReport(text, "a native breakpoint stops it: -b FUNCTION"))
        raise Quit


async def run_lines(console: Console, descriptor: int) -> None:
    """Run the lines of a file or a pipe, one at each stop; the end of it ends the session.

    Only the lines that are run are read: the rest is left for the target, which has the same standard input.
    """
    await console.settle()
    while not console.ended:
        line = await _read_line(console, descriptor)
        if line is None:
            if not console.ended and console.current.ended:  # another process is the current one from now on
                await console.settle()
                continue
            return
        # Python's statements end with an empty line.
        if console.interaction is not None or (line.strip() and not line.lstrip().startswith("#")):
            await console.execute(line.rstrip("\n"))
            await console.settle()


async def _read_line(console: Console, descriptor: int) -> str | None:
    """The next line, or None at the end of the file and when the session ends meanwhile."""
    line = b""
    while not line.endswith(b"\n"):
        if not await _readable(console, descriptor):
            return None
        letter = os.read(descriptor, 1)
        if not letter:
            break
        line += letter
    return decoded(line) if line else None


async def _readable(console: Console, descriptor: int) -> bool:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # epoll_ctl(2), EPERM: a regular file or /dev/null, which never makes one wait
        return True
    ended = asyncio.ensure_future(console.until_current_ends())
    waiting = asyncio.ensure_future(ready.wait())
    try:
        await asyncio.wait({waiting, ended}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        loop.remove_reader(descriptor)
        waiting.cancel()
        ended.cancel()
    return ready.is_set()
