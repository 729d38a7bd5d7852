"""Which processes a user means: numbers, process trees, parts of command lines."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...errors import TargetError, TargetGone


def find_targets(targets: Sequence[str], trees: Sequence[int]) -> list[int]:
    """The processes, each once. Raises TargetError when a pattern fits none, TargetGone for a tree without root."""
    found: list[int] = []
    for root in trees:
        found += _tree(root)
    for target in targets:
        found += [int(target)] if target.isdigit() else _by_pattern(target)
    return list(dict.fromkeys(found))


def _tree(root: int) -> list[int]:
    """A process and its descendants, parents before children."""
    import psutil  # the import takes 12 ms, and a single process does not need it

    try:
        return [root, *(child.pid for child in psutil.Process(root).children(recursive=True))]
    except psutil.NoSuchProcess as error:
        raise TargetGone(f"there is no process {root}", "dualdbg ps lists the Python processes") from error


def _by_pattern(pattern: str) -> list[int]:
    """Every process with these words, except dualdbg and the processes that started it, which have the words too."""
    import psutil

    ours = {os.getpid(), os.getppid()}
    matches = [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if process.pid not in ours and pattern in " ".join(process.info["cmdline"] or ())  # None for a zombie
    ]
    if not matches:
        raise TargetError(
            f"no process of this machine has {pattern!r} in its command line",
            "dualdbg ps lists the Python processes",
        )
    return matches
