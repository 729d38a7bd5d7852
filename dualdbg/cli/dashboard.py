"""The dashboard as the front end of one session: the check of the terminal, and the end of the session."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..system import afterwards
from ..system.terminal_text import cleaned
from .front_end import TROUBLE_STATUS, StartRun, exit_status, status_of
from .terminal_guard import LEAVE_DASHBOARD, guard_terminal, is_gone

if TYPE_CHECKING:
    from ..tui.app import Dashboard, Wishes
    from ..tui.terminal.pty import ProgramTerminal

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C is a key of the dashboard, and sends none


def check_terminal(environ: Mapping[str, str] = os.environ, option: str = "--tui") -> None:
    """Raises UsageError where the dashboard, which ``option`` asks for, cannot be drawn."""
    instead = f"leave {option} away for the prompt, which needs nothing of the terminal"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"{option} needs a terminal, and standard input or standard error is none", instead)
    term = environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        raise UsageError(
            f"{option} needs a terminal that can move its cursor, and TERM is {term or 'not set'}", instead
        )


async def choose_process() -> int | None:
    """The user picks one of the Python processes; None when they would rather leave."""
    import pwd

    from ..snapshot.linux.processes import PythonProcess, python_processes
    from ..tui.screens.picker import Candidate, ProcessPicker

    def user(number: int) -> str:
        try:
            return pwd.getpwuid(number).pw_name
        except KeyError:
            return str(number)

    def candidate(one: PythonProcess) -> Candidate:
        return Candidate(
            one.pid,
            one.command,
            user(one.owner),
            one.version or "?",
            one.has_torch,
            one.threads,
            one.cpu,
            one.seconds,
            one.refusal or "",
        )

    picker = ProcessPicker(lambda: [candidate(one) for one in cleaned(python_processes())])
    with _terminal_given_back(picker.exit) as received:
        chosen = await picker.run_async()
    if received:
        signal.raise_signal(received[0])
    return chosen


@contextmanager
def _terminal_given_back(leave: Callable[[], None]) -> Iterator[list[int]]:
    """The terminal is as it was at the end of the block, and also when we are killed in it.

    A signal that is to end us calls ``leave``; it is in the list then.
    """
    descriptor = sys.stderr.fileno()  # Textual puts something else into sys.stderr
    guard = guard_terminal(descriptor, LEAVE_DASHBOARD)
    loop = asyncio.get_running_loop()
    received: list[int] = []

    def receive(number: int) -> None:
        received.append(number)
        afterwards.end_us_at_last(exit_status(None, number))
        if is_gone(descriptor):
            _abandon_terminal()
        leave()

    for number in _SIGNALS:
        loop.add_signal_handler(number, receive, number)
    try:
        yield received
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        guard.release()


async def converse_in_dashboard(
    start: StartRun, terminal: ProgramTerminal | None, wishes: Wishes, must_end: bool = False
) -> int:
    """Show one session to its end; returns the exit status, as ``status_of`` has it. Raises what ``start`` raises.

    The session is closed in any case, also when a signal ends us.
    """
    from ..tui.app import Dashboard

    # Exported by some shells; with them no change of the size would be seen.
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    app = Dashboard(start, terminal, wishes)
    status = TROUBLE_STATUS
    with _terminal_given_back(app.exit) as received:
        try:
            await app.run_async()
            # The state at which the user left: the end of the target after that does not count.
            status = _status(app, must_end)
        finally:
            await app.close_session()
            if terminal is not None:
                terminal.close()
    if app.failure is not None:
        raise app.failure
    if received:
        return exit_status(None, received[0])
    return status


def _abandon_terminal() -> None:
    """The terminal is gone: let later writes to it (by Textual, in a thread) go nowhere instead of failing."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _status(app: Dashboard, must_end: bool) -> int:
    console = app.console_
    return TROUBLE_STATUS if console is None or app.return_code else status_of(console, must_end)
