"""pydevd disables an event at a place that has been asked for while its callback ran, from Python 3.12 on.

Runs in the target.

A callback of sys.monitoring answers DISABLE where nothing is wanted at its place, and hears of it again only after
``restart_events()``. What is wanted may change while it runs in one thread: another one sets a breakpoint or begins a
step, and restarts the events. The answer comes after that, and would hide the place from what is wanted now.
"""

from __future__ import annotations

import sys
from _thread import _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Restarts:
    """The restarts of the events of one tool, which come after each change of what is wanted."""

    def __init__(self) -> None:
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._count = 0
        self._thread: Any = _local()

    def restart(self) -> None:
        """Have all places told of again."""
        self._count += 1
        self._monitoring.restart_events()

    def disable(self) -> Any:
        """What a callback answers that wants to hear no more of its place: DISABLE, or None to be asked again.

        Callbacks do not nest. So the one that was under way at a restart is the first of its thread that asks
        afterwards; that is asked again. No other thread runs between a later answer and its effect.
        """
        count = self._count
        if getattr(self._thread, "count", 0) != count:
            self._thread.count = count
            return None
        return self._monitoring.DISABLE
