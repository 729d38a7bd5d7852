"""Which processes a user means: numbers, process trees, parts of command lines, what is in their environment."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...errors import TargetError, TargetGone


def find_targets(targets: Sequence[str], trees: Sequence[int], having: Sequence[str] = ()) -> list[int]:
    """The processes, each once. ``having``: those with one of these in their environment, ``NAME`` or ``NAME=VALUE``.

    Raises TargetError when a pattern fits none, TargetGone for a tree without root.
    """
    found: list[int] = []
    for root in trees:
        found += _tree(root)
    for target in targets:
        found += [int(target)] if target.isdigit() else _by_pattern(target)
    if having:
        found += _by_environment(having)
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

    ours = _ours()
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


def _by_environment(having: Sequence[str]) -> list[int]:
    """Every process whose environment was given one of these, except dualdbg and what has started it."""
    wanted = [word.encode(errors="surrogateescape") for word in having]
    ours = _ours()
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    found = [pid for pid in pids if pid not in ours and _has(pid, wanted)]
    if not found:
        raise TargetError(
            f"no process of this machine that you may read has {' or '.join(having)} in its environment",
            "name the processes by a part of their command line; dualdbg ps lists the Python processes",
        )
    return found


def _has(pid: int, wanted: Sequence[bytes]) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return False  # another user's, or it has ended
    return any(
        word == each or (b"=" not in each and word.startswith(each + b"="))
        for word in words
        for each in wanted
    )


def _ours() -> set[int]:
    """This process and all that it descends from: a shell, sshd, a step of Slurm."""
    import psutil

    return {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
