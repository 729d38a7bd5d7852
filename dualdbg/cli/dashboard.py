"""The dashboard as the front end of one session: is the terminal fit for it, and what happens at the end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..model import State
from .front_end import TROUBLE_STATUS, Start, exit_status

if TYPE_CHECKING:
    from ..tui.app import Dashboard, Wishes
    from ..tui.terminal.pty import ProgramTerminal

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def check_terminal(environ: Mapping[str, str] = os.environ) -> None:
    """Raises UsageError where the dashboard cannot be drawn."""
    instead = "leave --tui away for the prompt, which needs nothing of the terminal"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("--tui needs a terminal, and standard input or standard error is none", instead)
    term = environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        raise UsageError(
            f"--tui needs a terminal that can move its cursor, and TERM is {term or 'not set'}", instead
        )


async def converse_in_dashboard(start: Start, terminal: ProgramTerminal | None, wishes: Wishes) -> int:
    """Show one session to its end; returns the exit status. Raises what ``start`` raises.

    The session is closed in any case, also when a signal ends us.
    """
    from ..tui.app import Dashboard

    app = Dashboard(start, terminal, wishes)
    loop = asyncio.get_running_loop()
    received: list[int] = []

    def leave(number: int) -> None:
        received.append(number)
        app.exit()

    for number in _SIGNALS:
        loop.add_signal_handler(number, leave, number)
    try:
        await app.run_async()
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        await app.close_session()
        if terminal is not None:
            terminal.close()
    if app.failure is not None:
        raise app.failure
    if received:
        return exit_status(None, received[0])
    return _status(app)


def _status(app: Dashboard) -> int:
    console = app.console_
    if console is None or app.return_code:
        return TROUBLE_STATUS
    if console.session.state is State.LOST:
        return TROUBLE_STATUS
    return 0 if console.exit is None else exit_status(console.exit.code, console.exit.signal)
