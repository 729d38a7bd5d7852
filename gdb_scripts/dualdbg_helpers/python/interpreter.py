"""The inferior's CPython: its version and the layout of its objects, found once for a target."""

from dualdbg_shared.cpython import ObjectLayout

from .version import find


class Interpreter:
    """The ``version`` of the inferior's CPython, and the ``layout`` of its objects."""

    def __init__(self, target):
        self.version = find(target.memory, target.mappings, target.limits.python_version)
        self.layout = ObjectLayout(self.version)
