"""Which values have changed since the last stop in the same function. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from ...model import Frame, NativeFrame

Path = tuple[str, ...]
"""The names that lead to a value: the variable, its member, and so on."""


def scope_of(tid: int, frame: Frame, depth: int) -> Hashable:
    """What makes two frames of two stops the same to a user: thread, function, and how deep in the stack it is."""
    place = frame.library if isinstance(frame, NativeFrame) else frame.file
    return tid, frame.language, frame.function, place, depth


class Memory:
    """The texts of values as they were shown, a scope at a time: at this stop, and before it."""

    def __init__(self, scopes: int = 64) -> None:
        self._before: dict[Hashable, dict[Path, str]] = {}
        self._now: dict[Hashable, dict[Path, str]] = {}
        self._scopes = scopes

    def turn(self) -> None:
        """A new stop: its values are compared with those shown until now."""
        for scope, texts in self._now.items():
            self._before[scope] = {**self._before.pop(scope, {}), **texts}
        self._now.clear()
        while len(self._before) > self._scopes:
            del self._before[next(iter(self._before))]

    def last(self, scope: Hashable) -> Mapping[Path, str]:
        """The texts of a scope before this stop; empty for a scope that was not shown."""
        return self._before.get(scope, {})

    def keep(self, scope: Hashable, texts: Mapping[Path, str]) -> None:
        """Note texts that are shown at this stop."""
        self._now[scope] = {**self._now.get(scope, {}), **texts}


def changed(last: Mapping[Path, str], path: Path, text: str) -> bool:
    """Whether a value differs from the last one that was shown; a value that was never shown is not marked."""
    return path in last and last[path] != text
