"""The tasks of asyncio as a scope: of every frame of a thread that runs an event loop."""

from __future__ import annotations

from collections.abc import Mapping

from ...console.task_list import doing, labels
from ...model import Task
from ...protocol.dap_types import Scope, Variable
from ...stacks.task_frames import runs_event_loop
from ..client.arguments import Arguments
from ..handles import Container, FrameHandle
from .values import Values


async def task_scopes(values: Values, handle: FrameHandle) -> list[Scope]:
    """The scope with the tasks; none where the thread of the frame runs no event loop."""
    stack = await values.debuggee.session.inspector.stack(handle.tid)
    if not runs_event_loop(stack.frames):
        return []
    # To read them halts the target for a moment, so clients ask when the user opens it.
    return [{"name": "Tasks", "variablesReference": values.add(TaskRows(values)), "expensive": True}]


class TaskRows(Container):
    """A row for each task."""

    def __init__(self, values: Values) -> None:
        self._values = values

    async def rows(self, arguments: Arguments) -> list[Variable]:
        found = await self._values.debuggee.session.inspector.tasks()
        names = labels(found.tasks)
        start = max(arguments.number("start", 0), 0)
        count = arguments.number("count", 0)
        rows = [self._row(task, names) for task in found.tasks[start : start + count if count > 0 else None]]
        return [*rows, *(_text("note", note) for note in found.notes)] if not start else rows

    def _row(self, task: Task, names: Mapping[int, str]) -> Variable:
        return {
            "name": names[task.address],
            "value": doing(task, names),
            "type": task.coroutine,
            "variablesReference": self._values.add(TaskMembers(task, names)),
        }


class TaskMembers(Container):
    """What is known of one task: its frames, innermost first, and the tasks that it waits for and that await it."""

    def __init__(self, task: Task, names: Mapping[int, str]) -> None:
        self._task = task
        self._names = names

    async def rows(self, arguments: Arguments) -> list[Variable]:
        task = self._task
        places = (f"{frame.function}  {frame.file}:{frame.line}" for frame in task.frames)
        rows = [_text(f"#{number}", place) for number, place in enumerate(places)]
        for name, addresses in (("waits for", task.awaits), ("awaited by", task.awaited_by)):
            if addresses:
                rows.append(_text(name, ", ".join(self._names[one] for one in addresses)))
        rows.append(_text("loop", f"{task.loop_type} at {task.loop:#x}"))
        return [*rows, _text("note", task.note)] if task.note else rows


def _text(name: str, value: str) -> Variable:
    return {"name": name, "value": value, "variablesReference": 0}
