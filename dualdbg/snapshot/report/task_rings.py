"""Tasks of asyncio that wait for each other. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...model import Task, TaskState

# What ends only when all that is awaited has ended, or one is cancelled. wait and wait_for may have a time limit.
_LASTING = ("await", "gather", "shield", "TaskGroup")


def needed_by(task: Task) -> tuple[int, ...]:
    """The tasks without which this one does not go on: those it awaits, or who has the lock that it waits for."""
    return task.awaits if task.lock_holder is None else (task.lock_holder,)


def stuck(tasks: Iterable[Task]) -> dict[int, Task]:
    """The tasks that can go on only when another one of them has, by address: those in rings, and those that wait for
    them alone.
    """
    left = {
        task.address: task
        for task in tasks
        if task.state is TaskState.WAITING
        and needed_by(task)
        and not task.other_futures
        and (task.through in _LASTING or task.lock_holder is not None)
        and not task.may_be_cancelled
    }
    before = -1
    while len(left) != before:
        before = len(left)
        left = {
            address: task for address, task in left.items() if all(one in left for one in needed_by(task))
        }
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
            address = needed_by(tasks[address])[0]
        if address in path:
            found.append([tasks[each] for each in path[path.index(address) :]])
        done.update(path)
    return found
