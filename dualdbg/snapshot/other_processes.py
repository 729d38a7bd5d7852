"""What other processes have to do with what threads wait for: the ends of their pipes, the locks of their files."""

from __future__ import annotations

from collections.abc import Sequence

from .facts import ProcessReport
from .linux.descriptors import with_other_ends
from .linux.file_locks import with_lock_holders


def with_other_processes(reports: Sequence[ProcessReport]) -> list[ProcessReport]:
    """The same reports, of processes that run on by now; their descriptors name who else has to do with them."""
    return with_lock_holders(with_other_ends(reports))
