"""The target of a command: the selected inferior with its memory, files and layouts, made when it starts."""

from . import inferior, settings
from .layout import choose, installation
from .target import Target


def current(max_length=None):
    """The :class:`Target` of the selected inferior; raises :class:`.errors.HelperError` when there is none."""
    process = inferior.require_inferior()
    mapped = inferior.mappings(process)
    memory = inferior.memory(process, mapped)
    limits = settings.limits(max_length)
    found = installation.find(mapped)

    def make(chain):
        return Target(memory, mapped, chain, inferior.demangle, found, limits)

    return make(choose.chain(found, make))
