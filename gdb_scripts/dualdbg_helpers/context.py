"""The target of a command: the selected inferior with its memory, files and layouts, made when it starts."""

import gdb

from . import inferior, settings
from .layout import choose, installation
from .target import Target


def current(max_length=None, formatting=False):
    """The :class:`Target` of the selected inferior; raises :class:`.errors.HelperError` when there is none."""
    process = inferior.require_inferior(formatting)
    mapped = inferior.mappings(process)
    memory = inferior.memory(process, mapped)
    limits = settings.limits(max_length)
    found = installation.find(mapped)

    def make(chain):
        return Target(memory, mapped, chain, inferior.demangle, found, limits)

    return make(choose.chain(found, make))


_shared = []


def shared():
    """The :class:`Target` for printers: one for the many values of a stop, made anew when anything has changed."""
    if not _shared:
        _shared.append(current(formatting=True))
    target = _shared[0]
    target.renew()
    return target


def renew_layouts():
    """The sources of layouts are chosen anew, for every value that is shown from now on."""
    choose.forget()
    _forget()


def _forget(event=None):
    _shared.clear()


def register():
    """Watches for what makes a target stale: settings change, the inferior runs, or its memory, registers or symbols
    change.
    """
    settings.when_changed(_forget)
    for name in (
        "cont",
        "stop",
        "exited",
        "memory_changed",
        "register_changed",
        "new_objfile",
        "clear_objfiles",
    ):
        getattr(gdb.events, name).connect(_forget)
