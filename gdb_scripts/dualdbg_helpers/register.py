"""Makes settings, commands, printers and MI commands known to gdb, once."""

from __future__ import annotations

from . import context, printers, settings
from .commands import about, dispatch, jit, registry, sides, values

COMMAND_MODULES = (about, dispatch, jit, sides, values)
"""The modules with commands: to import one is to put its commands into the table."""

_done = []


def register() -> None:
    """Registers everything; a second call does nothing."""
    if _done:
        return
    _done.append(True)
    settings.register()
    context.register()
    registry.register()
    printers.register()
