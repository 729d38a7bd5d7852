"""How far a command reads: depth, length, string length and time."""

import time

from .errors import OutOfTime


class Limits:
    """``max_depth`` levels of nesting, ``max_length`` elements of a container, ``max_string`` bytes of a string,
    ``seconds`` for one command; 0 means no limit, except for the depth. ``python_version`` is the version of the
    inferior's CPython as the user gives it (None: read it from the process)."""

    def __init__(self, max_depth=20, max_length=200, max_string=2000, seconds=10.0, python_version=None):
        self.max_depth = max_depth
        self.max_length = max_length
        self.max_string = max_string
        self.seconds = seconds
        self.python_version = python_version


class Budget:
    """The limits of one command, running: the clock starts when this is made."""

    def __init__(self, limits):
        self.limits = limits
        self._deadline = time.monotonic() + limits.seconds if limits.seconds else None

    def tick(self):
        """Raises :class:`OutOfTime` once the time of the command is used up."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise OutOfTime(f"the time limit of {self.limits.seconds:g} s")

    def shown(self, count):
        """How many of ``count`` elements to read."""
        limit = self.limits.max_length
        return min(count, limit) if limit else count
