"""Makes settings, commands, printers and MI commands known to gdb, once."""

from . import context, printers, settings
from .commands import registry
from .commands import about as _about  # noqa: F401  (its commands enter the table)
from .commands import dispatch as _dispatch  # noqa: F401
from .commands import jit as _jit  # noqa: F401
from .commands import values as _values  # noqa: F401

_done = []


def register():
    """Registers everything; a second call does nothing."""
    if _done:
        return
    _done.append(True)
    settings.register()
    context.register()
    registry.register()
    printers.register()
