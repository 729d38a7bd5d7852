"""The dashboard as the front end of one session: the check of the terminal, and the end of the session."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..model import State
from ..target.guard import Guard
from ..terminal_text import cleaned
from .front_end import TROUBLE_STATUS, StartRun, exit_status

if TYPE_CHECKING:
    from ..tui.app import Dashboard, Wishes
    from ..tui.terminal.pty import ProgramTerminal

# What Textual's driver has switched on: the keyboard protocol, the other screen, the hidden cursor, focus and mouse
# reports, bracketed paste, no line wrap, resize reports; and the colours of whatever was being written.
_LEAVE = (
    "\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"
    "\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?2026l\x1b[0m"
)
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

    return await ProcessPicker(lambda: [candidate(one) for one in cleaned(python_processes())]).run_async()


async def converse_in_dashboard(start: StartRun, terminal: ProgramTerminal | None, wishes: Wishes) -> int:
    """Show one session to its end; returns the exit status. Raises what ``start`` raises.

    The session is closed in any case, also when a signal ends us.
    """
    from ..tui.app import Dashboard

    for name in (
        "COLUMNS",
        "LINES",
    ):  # exported by some shells; with them no change of the size would be seen
        os.environ.pop(name, None)
    guard = Guard(_restoring(sys.stderr.fileno()), sys.stderr.fileno())
    app = Dashboard(start, terminal, wishes)
    loop = asyncio.get_running_loop()
    received: list[int] = []

    def leave(number: int) -> None:
        received.append(number)
        if number == signal.SIGHUP:
            _abandon_terminal()
        app.exit()

    for number in _SIGNALS:
        loop.add_signal_handler(number, leave, number)
    status = TROUBLE_STATUS
    try:
        await app.run_async()
        status = _status(
            app
        )  # the state at which the user left: the end of the target after that does not count
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        await app.close_session()
        if terminal is not None:
            terminal.close()
        guard.release()
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


def _restoring(descriptor: int) -> str:
    """A shell script that restores the terminal, its standard output, when we are killed and cannot do it ourselves.

    It uses the descriptor, because another terminal may have got the name of one that is gone.
    """
    stty = subprocess.run(["stty", "-g"], stdin=descriptor, capture_output=True, text=True, check=False)
    sequences = _LEAVE.replace("\x1b", "\\033")
    return f"read released && exit 0; stty {stty.stdout.strip()} <&1; printf '{sequences}'"


def _status(app: Dashboard) -> int:
    console = app.console_
    if console is None or app.return_code:
        return TROUBLE_STATUS
    if console.session.state is State.LOST:
        return TROUBLE_STATUS
    return 0 if console.exit is None else exit_status(console.exit.code, console.exit.signal)
