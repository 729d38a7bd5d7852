"""The inferior's CPython: its version and the layout of its objects, found once for a target."""

from .layout import PythonLayout
from .version import find


class Interpreter:
    def __init__(self, target):
        self.version = find(target.memory, target.mappings, target.limits.python_version)
        self.layout = PythonLayout(self.version)
