"""All that a decoder needs of the inferior, made anew for every command."""

from .cxx import Containers
from .limits import Budget, Limits
from .rtti import Rtti


class Target:
    """The inferior as the decoders see it.

    ``memory`` (:class:`.memory.Memory`), ``mappings`` (:class:`.mappings.Mappings`), ``layout`` (a
    :class:`.layout.model.Chain`), ``demangle`` (mangled name to C++ text), ``installation`` (the
    PyTorch that is loaded, or None).
    """

    def __init__(self, memory, mappings, layout, demangle, installation=None, limits=None):
        self.memory = memory
        self.mappings = mappings
        self.layout = layout
        self.demangle = demangle
        self.installation = installation
        self.limits = limits or Limits()
        self.budget = Budget(self.limits)
        self.rtti = Rtti(memory, demangle)
        self.cxx = Containers(memory, installation.cxx11_abi if installation else True)
        self._decoders = {}

    def renew(self):
        """Starts the clock of the time limit again."""
        self.budget = Budget(self.limits)

    def decoder(self, kind):
        """The one decoder of class ``kind`` for this target, made when it is first asked for."""
        found = self._decoders.get(kind)
        if found is None:
            found = self._decoders[kind] = kind(self)
        return found
