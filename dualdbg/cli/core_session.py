"""The session of ``dualdbg core``: a process that is no more, at the prompt or in the dashboard."""

from __future__ import annotations

from collections.abc import Callable

from ..session.core import open_core
from ..session.session import Session
from ..session.start import Options
from . import main as entry
from .dashboard import check_terminal, converse_in_dashboard
from .front_end import Interaction, converse
from .sinks import sink


async def debug(core: str, program: str | None, gdb: str | None, interaction: Interaction) -> int:
    """Look at the core file ``core`` with commands; returns the exit status. Raises DualdbgError likewise."""

    async def start(subscribe: Callable[[Session], None]) -> Session:
        return await open_core(core, Options(gdb=gdb), program, entry.STARTED, subscribe)

    return await converse(start, interaction, sink(interaction.json))


async def debug_in_dashboard(core: str, program: str | None, gdb: str | None) -> int:
    """Show the core file ``core``; returns the exit status. Raises DualdbgError when it cannot be read."""
    check_terminal()
    from ..tui.app import Wishes

    async def start(subscribe: Callable[[Session], None]) -> Session:
        return await open_core(core, Options(gdb=gdb), program, entry.STARTED, subscribe)

    return await converse_in_dashboard(start, None, Wishes())
