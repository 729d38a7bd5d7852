"""Dispatch keys: what a ``DispatchKeySet`` holds, in the dispatcher's order.

A key set is 64 bits: first one bit a backend, then one bit a functionality; a functionality that
differs per backend stands for one key for every backend bit (c10/core/DispatchKeySet.h).
"""

_PER_BACKEND = (
    # (functionality, prefix of the runtime keys): c10/core/DispatchKey.h, C10_FORALL_FUNCTIONALITY_KEYS
    ("Dense", ""),
    ("Quantized", "Quantized"),
    ("Sparse", "Sparse"),
    ("SparseCsr", "SparseCsr"),
    ("NestedTensor", "NestedTensor"),
    ("AutogradFunctionality", "Autograd"),
)


class DispatchKeys:
    """The names of dispatch keys, by the enums of this PyTorch."""

    def __init__(self, target):
        keys = target.layout.enum("c10::DispatchKey")
        backends = target.layout.enum("c10::BackendComponent")
        last = {name: value for value, name in keys.items()}["EndOfFunctionalityKeys"]
        self._backends = [backends[bit][: -len("Bit")] for bit in sorted(backends) if bit > 0]
        self._functionalities = [keys[value] for value in range(1, last)]
        self._names = keys
        self._prefixes = dict(_PER_BACKEND)

    def functionality(self, bits):
        """The functionality names and the backend names that are set in ``bits``."""
        count = len(self._backends)
        backends = {name for i, name in enumerate(self._backends) if bits >> i & 1}
        functions = {name for i, name in enumerate(self._functionalities) if bits >> (count + i) & 1}
        return functions, backends

    def names(self, bits):
        """Names of the keys in ``bits``, lowest priority first, as PyTorch prints a DispatchKeySet."""
        count = len(self._backends)
        found = []
        for i, name in enumerate(self._functionalities):
            if not bits >> (count + i) & 1:
                continue
            if name in self._prefixes:
                found.extend(self._prefixes[name] + b for j, b in enumerate(self._backends) if bits >> j & 1)
            else:
                found.append(name)
        return found

    def plausible(self, bits):
        """Whether ``bits`` has no other bits than those of keys."""
        return 0 < bits < 1 << (len(self._backends) + len(self._functionalities))

    def text(self, bits):
        """A key set as PyTorch prints it."""
        return "DispatchKeySet({})".format(", ".join(self.names(bits)))
