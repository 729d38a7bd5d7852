"""The session of ``dualdbg core``: a process that has ended, at the prompt or in the dashboard."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from ..config import configuration
from ..session.configured import session_options
from ..session.options import Options
from ..session.post_mortem import open_core
from ..session.session import Session
from . import main as entry
from .arguments import asked
from .dashboard import check_terminal, converse_in_dashboard
from .front_end import Interaction, Start, converse
from .sinks import sink


async def debug(options: Namespace, interaction: Interaction) -> int:
    """Look at the core file of ``options`` with commands; returns the exit status. Raises DualdbgError."""

    return await converse(_starter(options), interaction, sink(interaction.json))


async def debug_in_dashboard(options: Namespace) -> int:
    """Show the core file of ``options``; returns the exit status. Raises DualdbgError when it cannot be read."""
    check_terminal()
    from ..tui.app import Wishes

    return await converse_in_dashboard(_starter(options), None, Wishes())


def _starter(options: Namespace) -> Start:
    chosen = _session_options(options)

    async def start(subscribe: Callable[[Session], None]) -> Session:
        return await open_core(options.core, chosen, options.exe, entry.STARTED, subscribe)

    return start


def _session_options(options: Namespace) -> Options:
    return session_options(configuration(options.config), asked(options))
