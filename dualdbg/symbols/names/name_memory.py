"""Names of a big library that were looked up before, kept on disk: the next session finds them at once.

Only positions in the symbol table are kept. The caller checks that the names are still there.
"""

from __future__ import annotations

import json
from contextlib import suppress

from .. import cache

_FORMAT = 3  # a new number when names mean more than before
_NAMES = 400  # kept for each library, those used last
_POSITIONS = 200  # positions of one name; a name that means more is not worth keeping


class NameMemory:
    """What names meant in the library of this identity (see :attr:`Objfile.identity`)."""

    def __init__(self, identity: str) -> None:
        self._file = f"names{_FORMAT}-{identity}.json"
        self._known: dict[str, list[int]] | None = None

    def recall(self, key: str) -> list[int] | None:
        """The positions kept for ``key``; None when there are none."""
        return self._load().get(key)

    def keep(self, key: str, positions: list[int]) -> None:
        """Remember them, in this process and, where there is room, for the next."""
        known = self._load()
        known.pop(key, None)
        if len(positions) > _POSITIONS:
            return
        known[key] = positions
        while len(known) > _NAMES:
            del known[next(iter(known))]
        with suppress(OSError):  # no room anywhere: the next session searches again
            cache.store(self._file, [json.dumps(known).encode()])

    def _load(self) -> dict[str, list[int]]:
        if self._known is None:
            self._known = {}
            try:
                content = json.loads((cache.cache_directory() / self._file).read_bytes())
            except (OSError, ValueError):  # the file is not there yet, or it was cut short
                content = {}
            if isinstance(content, dict):
                self._known = {key: value for key, value in content.items() if _is_positions(value)}
        return self._known


def _is_positions(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)
