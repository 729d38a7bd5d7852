"""Which of debugpy's modules the client has heard of, and when there may be more."""

from __future__ import annotations

from collections.abc import Iterable

from ...protocol import dap_types as dap


class ModuleNews:
    """debugpy learns of a module when it shows a frame of it, so there may be new ones at each stack that is shown."""

    def __init__(self) -> None:
        self._told: set[int | str] = set()
        self._last: tuple[int, int] | None = None

    def may_have_come(self, epoch: int, tid: int) -> bool:
        """Whether the stack of thread ``tid`` is shown for the first time; its further pages bring none."""
        before, self._last = self._last, (epoch, tid)
        return self._last != before

    def untold(self, rows: Iterable[dap.Module]) -> list[dap.Module]:
        """Those of the modules that the client has not heard of; it has now."""
        new = [row for row in rows if row["id"] not in self._told]
        self._told.update(row["id"] for row in new)
        return new
