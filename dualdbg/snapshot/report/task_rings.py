"""Tasks of asyncio that wait for each other. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...model import Task, TaskState

# What ends only when all that is awaited has ended, or one is cancelled. wait and wait_for may have a time limit.
_LASTING = ("await", "gather", "shield", "TaskGroup")


def stuck(tasks: Iterable[Task]) -> dict[int, Task]:
    """The tasks that can go on only when another one of them has, by address: those in rings, and those that wait for
    them alone.
    """
    left = {
        task.address: task
        for task in tasks
        if task.state is TaskState.WAITING
        and task.awaits
        and not task.other_futures
        and task.through in _LASTING
    }
    before = -1
    while len(left) != before:
        before = len(left)
        left = {address: task for address, task in left.items() if all(one in left for one in task.awaits)}
    return left


def rings(tasks: Mapping[int, Task]) -> list[list[Task]]:
    """Every ring of tasks in which each awaits the next; each ring once. ``tasks`` are what :func:`stuck` found."""
    found: list[list[Task]] = []
    done: set[int] = set()
    for start in tasks:
        path: list[int] = []
        address = start
        while address not in done and address not in path:
            path.append(address)
            address = tasks[address].awaits[0]
        if address in path:
            found.append([tasks[each] for each in path[path.index(address) :]])
        done.update(path)
    return found
