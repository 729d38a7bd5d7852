"""The command line as the front end of one session: shows its events, runs the commands, and ends it."""

from __future__ import annotations

import asyncio
import importlib
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..model import Notice, State
from ..system import afterwards
from ..system.in_thread import begin
from ..target.guard import Guard
from .sinks import Sink
from .terminal_guard import LEAVE_PROMPT, guard_terminal

if TYPE_CHECKING:  # what is here is imported when the program and gdb have been started
    from ..console.completion import Names
    from ..console.console import Console
    from ..session.inferiors import Process
    from ..session.session import Session

_MOST_NAMED = 5  # processes that were killed at the end
_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Handlers of one session. While the target has the terminal, Ctrl-C goes to the target, and gdb catches it there.

    ``interactive``: there is a prompt, so Ctrl-C alone never ends the session.
    """

    def __init__(self, console: Console, interactive: bool) -> None:
        self._console = console
        self._interactive = interactive
        self._received: signal.Signals | None = None

    async def watch(self, work: Coroutine[Any, Any, int]) -> int:
        """Run ``work``; when a signal ends it, returns the status that a shell shows for that signal."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(work)
        loop.add_signal_handler(signal.SIGINT, self._interrupt, task)
        for number in _ENDING:
            loop.add_signal_handler(number, self._end, task, number)
        try:
            return await task
        except asyncio.CancelledError:
            if self._received is None:
                task.cancel()
                raise
            return _SIGNAL_BASE + self._received
        finally:
            for number in (signal.SIGINT, *_ENDING):
                loop.remove_signal_handler(number)

    def _interrupt(self, task: asyncio.Task[int]) -> None:
        stands_still = self._console.stopped and not self._interactive
        if stands_still or not self._console.interrupt():
            self._end(task, signal.SIGINT)

    def _end(self, task: asyncio.Task[int], number: signal.Signals) -> None:
        self._received = number
        task.cancel()
        afterwards.end_us_at_last(_SIGNAL_BASE + number)


TROUBLE_STATUS = 3
_SIGNAL_BASE = 128  # a shell shows the end by signal N as 128 + N

Start = Callable[[Callable[["Session"], None]], Awaitable["Session"]]
"""Starts a session; it calls its argument with the session before anything happens in it."""

Subscribe = Callable[["Session | Process"], None]

StartRun = Callable[[Subscribe], Awaitable["Session"]]
"""Starts a session as above; its argument is also called with each process that joins the run later."""


@dataclass(frozen=True)
class Interaction:
    """Where commands come from: those of -x first, then the prompt or the lines of standard input.

    With ``batch`` nothing comes after -x; a batch without commands shows the stack of every stop. ``must_end``: to
    leave before the program has ended is a failure.
    """

    commands: Sequence[str] = ()
    batch: bool = False
    json: bool = False
    must_end: bool = False

    @property
    def has_prompt(self) -> bool:
        """Whether a person types the commands at a terminal."""
        return not self.batch and not self.json and sys.stdin.isatty() and sys.stdout.isatty()


async def converse(
    start: StartRun,
    interaction: Interaction,
    show: Sink,
    before_event: Callable[[], None] = lambda: None,
    spec_names: Names = lambda _text: (),
) -> int:
    """Start a session and let the user steer it to its end; returns the exit status.

    The user may act while the session still starts (Ctrl-C, a pause). Raises what ``start`` raises; the session is
    closed in any case.
    """
    if interaction.has_prompt:  # what the first stop needs is imported while the target starts
        begin(importlib.import_module, f"{__package__}.prompt")
    subscribed: asyncio.Future[Console] = asyncio.get_running_loop().create_future()

    def subscribe(one: Session | Process) -> None:
        from ..console.console import Console
        from ..session.session import Session

        if isinstance(one, Session):
            subscribed.set_result(Console(one, show, before_event))
        else:
            subscribed.result().join(one)

    guard = _guard_of_terminal(interaction)
    starting = asyncio.ensure_future(start(subscribe))
    driving: asyncio.Future[int] | None = None
    try:
        waits: list[asyncio.Future[Any]] = [subscribed, starting]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if not subscribed.done():
            await starting  # the start failed, and raises its error here
        console = subscribed.result()
        console.structured = interaction.json
        console.attended = interaction.has_prompt
        console.pagination = True
        interrupts = Interrupts(console, interaction.has_prompt)
        driving = asyncio.ensure_future(interrupts.watch(_drive(console, interaction, show, spec_names)))
        waits = [starting, driving, show.broken]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            await starting  # the start may have failed
        waits = [driving, show.broken]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if show.broken.done():
            show.broken.result()
        return await driving
    finally:
        await _leave(starting, driving, subscribed.result() if subscribed.done() else None, interaction)
        if guard is not None:
            guard.release()


def _guard_of_terminal(interaction: Interaction) -> Guard | None:
    """The prompt changes the terminal's modes, and so may a program that has the terminal."""
    if interaction.has_prompt:
        return guard_terminal(sys.stdout.fileno(), LEAVE_PROMPT)
    return guard_terminal(sys.stdin.fileno()) if sys.stdin is not None and sys.stdin.isatty() else None


async def _leave(
    starting: asyncio.Future[Session],
    driving: asyncio.Future[int] | None,
    console: Console | None,
    interaction: Interaction,
) -> None:
    for task in (starting, driving):
        if task is not None:  # one that has failed already, too: what has ended the other has been told
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    if console is None:
        return
    console.leaving = not interaction.json
    await console.close_sessions()
    target = console.views[0].session.target
    if target is not None and target.left:
        number = len(target.left)
        names = ", ".join([*target.left[:_MOST_NAMED], *(["…"] if number > _MOST_NAMED else [])])
        text = f"killed {number} child {'process' if number == 1 else 'processes'} still running: {names}"
        console.show(Notice("info", text, "to keep them: detach before the program ends"))
    await console.close()


async def _drive(console: Console, interaction: Interaction, show: Sink, spec_names: Names) -> int:
    """Run all commands, until the session is over or there are no more."""
    from ..console.console import Quit
    from .script import run_commands, run_lines, show_every_stop

    try:
        if interaction.batch and not interaction.commands:
            await show_every_stop(console)
        else:
            await run_commands(console, interaction.commands, somebody_waits=not interaction.batch)
            if interaction.has_prompt:
                from .prompt import Prompt

                await Prompt(console, show, spec_names).run()
            elif not interaction.batch:
                await run_lines(console, sys.stdin.fileno())
    except Quit:
        pass
    await console.flush()
    return _status(console, interaction)


def _status(console: Console, interaction: Interaction) -> int:
    if console.failed and not interaction.has_prompt:
        return TROUBLE_STATUS
    return status_of(console, interaction.must_end)


def status_of(console: Console, must_end: bool) -> int:
    """That of the program, where it has ended. ``must_end``: it is a failure where it has not."""
    if console.session.state is State.LOST:
        return TROUBLE_STATUS
    if console.exit is None:
        return TROUBLE_STATUS if must_end else 0
    return exit_status(console.exit.code, console.exit.signal)


def exit_status(code: int | None, signal_number: int | None) -> int:
    """As a shell shows it; that of trouble where the end is not known."""
    if signal_number is not None:
        return _SIGNAL_BASE + signal_number
    return TROUBLE_STATUS if code is None else code
