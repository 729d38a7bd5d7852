"""Which process descends from which, as the kernel has it at this moment."""

from __future__ import annotations

from collections.abc import Set

from ..shared.proc_files import stat_of


def descends_from(pid: int, ancestors: Set[int]) -> bool:
    """Whether a process is one of ``ancestors``, or the child of one, and so on.

    A process whose parent has ended is the child of another now (a subreaper, or init). Raises OSError when it is gone.
    """
    while True:
        one = pid
        try:
            while one > 1 and one not in ancestors:
                one = stat_of(one).parent
        except OSError:
            stat_of(pid)  # OSError when it is gone; else an ancestor has just ended
            continue
        return one in ancestors
