"""Tasks of asyncio as text for people: those that stand at the same place are told once. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..model import PythonFrame, Task, Tasks, TaskState

_SHOWN_NAMES = 8
_SHOWN_FRAMES = 20

FrameRows = Callable[[PythonFrame], "list[str]"]


@dataclass(frozen=True)
class TaskGroup:
    """Tasks that stand at the same place, wait for the same, and are awaited by the same tasks."""

    tasks: tuple[Task, ...]

    @property
    def example(self) -> Task:
        """The first of them; what is said of it holds for all."""
        return self.tasks[0]


def groups_of(tasks: Iterable[Task]) -> list[TaskGroup]:
    """The groups in the order in which their first tasks are given."""
    groups: dict[tuple[object, ...], list[Task]] = {}
    for task in tasks:
        frames = tuple((frame.function, frame.file, frame.line) for frame in task.frames)
        key = (
            *(task.loop, task.thread, task.coroutine, task.state, frames),
            *(task.waits_for, task.awaits, task.awaited_by, task.note),
        )
        groups.setdefault(key, []).append(task)
    return [TaskGroup(tuple(group)) for group in groups.values()]


def labels(tasks: Sequence[Task]) -> dict[int, str]:
    """What each task is called, by its address: its name, with the address where several have it."""
    counts: dict[str, int] = {}
    for task in tasks:
        counts[task.name] = counts.get(task.name, 0) + 1
    return {
        task.address: task.name if counts[task.name] == 1 else f"{task.name} at {task.address:#x}"
        for task in tasks
    }


def doing(task: Task, names: Mapping[int, str]) -> str:
    """What a task does, in one line: ``waits for gather of 2 (Task-2, Task-3), awaited by Task-1``."""
    parts = [_state(task, names)]
    if task.awaited_by:
        parts.append(f"awaited by {_some(_called(task.awaited_by, names))}")
    return ", ".join(parts)


def _called(addresses: Iterable[int], names: Mapping[int, str]) -> list[str]:
    """What tasks are called; by its address one that is not among those that were read."""
    return [names.get(one, f"a task at {one:#x}") for one in addresses]


def _state(task: Task, names: Mapping[int, str]) -> str:
    if task.state is TaskState.RUNNING:
        return "runs" if task.thread is None else f"runs in thread {task.thread}"
    if task.state is TaskState.NOT_STARTED:
        return "has not started"
    if task.state is TaskState.READY:
        return "is to run at its loop's next turn"
    awaited = _called(task.awaits, names)
    if len(awaited) == 1 and f" {task.waits_for}".endswith(f" {awaited[0]}"):
        return f"waits for {task.waits_for}"
    listed = f" ({_some(awaited)})" if awaited else ""
    return f"waits for {task.waits_for}{listed}"


def task_lines(
    tasks: Tasks, shown: Sequence[Task], folded: bool, title: Callable[[str], str], rows: FrameRows
) -> list[str]:
    """The tasks ``shown`` among all. ``title`` paints a heading, ``rows`` makes the lines of a frame."""
    if not tasks.tasks:
        return ["There are no tasks of asyncio."]
    names = labels(tasks.tasks)
    lines: list[str] = []
    heading = None
    for group in groups_of(shown) if folded else [TaskGroup((task,)) for task in shown]:
        loop = group.example.loop, group.example.loop_type
        if loop != heading:
            heading = loop
            count = sum((task.loop, task.loop_type) == loop for task in shown)
            lines.append(title(_loop(group.example, count)))
        lines += _group(group, names, rows)
    return lines


def _loop(task: Task, count: int) -> str:
    where = f"in thread {task.thread}" if task.thread is not None else "of a loop that no thread runs now"
    return f"{count} task{'s' if count != 1 else ''} {where} ({task.loop_type} at {task.loop:#x})"


def _group(group: TaskGroup, names: Mapping[int, str], rows: FrameRows) -> list[str]:
    task = group.example
    who = _some(_called([one.address for one in group.tasks], names))
    several = f", {len(group.tasks)} tasks" if len(group.tasks) > 1 else ""
    lines = [f"- {who}{several}: {task.coroutine}, {doing(task, names)}"]
    for frame in task.frames[:_SHOWN_FRAMES]:
        lines += [f"  {line}" for line in rows(frame)]
    if len(task.frames) > _SHOWN_FRAMES:
        lines.append(f"    ({len(task.frames) - _SHOWN_FRAMES} more frames)")
    if task.note:
        lines.append(f"    ({task.note})")
    return lines


def _some(names: Sequence[str]) -> str:
    if len(names) <= _SHOWN_NAMES:
        return ", ".join(names)
    return ", ".join(names[:_SHOWN_NAMES]) + f" and {len(names) - _SHOWN_NAMES} more"
