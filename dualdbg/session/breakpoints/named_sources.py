"""The lines of a native source file that a user has named by a path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...backends.native import CodeAddress
from ...folders import here
from ...source_files import means_file, search_names
from ..engines import NativeEngine


class NamedSources:
    """Asks gdb for them. A relative path begins in one of ``folders``."""

    def __init__(self, native: NativeEngine, folders: Sequence[Path]) -> None:
        self._native = native
        self._folders = folders or (here(),)

    async def places(self, name: str, line: int) -> tuple[str, list[CodeAddress]]:
        """Return the name by which gdb has the file, and where the line begins; no places if gdb has no such file."""
        for asked in search_names(name, self._folders):
            found = await self._native.line_locations(asked, line)
            meant = [one for one in found if one.file is None or means_file(name, one.file, self._folders)]
            if meant:
                return asked, meant
        return name, []
