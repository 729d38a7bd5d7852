"""Which processes a user means: numbers, process trees, parts of command lines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from ..errors import TargetError, TargetGone
from .procfs import children_of, read_process


def find_targets(targets: Sequence[str], trees: Sequence[int]) -> list[int]:
    """The processes, each once. Raises TargetError when a pattern fits none, TargetGone for a tree without root."""
    found: list[int] = []
    for root in trees:
        if read_process(root) is None:
            raise TargetGone(f"there is no process {root}", "dualdbg ps lists the Python processes")
        found += children_of(root)
    for target in targets:
        found += [int(target)] if target.isdigit() else _by_pattern(target)
    return list(dict.fromkeys(found))


def _by_pattern(pattern: str) -> list[int]:
    matches = [pid for pid, command in _commands() if pattern in command]
    if not matches:
        raise TargetError(
            f"no process of this machine has {pattern!r} in its command line",
            "dualdbg ps lists the Python processes",
        )
    return matches


def _commands() -> Iterable[tuple[int, str]]:
    """Every process but ourselves and what started us with the same words."""
    ours = {os.getpid(), os.getppid()}
    for name in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
        if int(name) not in ours:
            facts = read_process(int(name))
            if facts is not None and facts.state not in "ZX" and not facts.command.startswith("["):
                yield facts.pid, facts.command
