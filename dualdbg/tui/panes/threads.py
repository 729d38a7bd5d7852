"""The threads pane: what each thread and each task of asyncio is doing, and the processes where there are several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.cells import cell_len

from ...console.console import View
from ...console.task_list import doing, groups_of, labels
from ...model import Task, Tasks, Thread
from ..model.looks import Part, fit
from ..widgets.row_view import Row, RowsView


def thread_rows(threads: Sequence[Thread], current: int | None) -> list[Row]:
    width = max((len(str(thread.tid)) for thread in threads), default=0)
    return [
        Row(
            thread.tid,
            partial(_thread, thread, width, thread.tid == current),
            thread.tid,
            "selected" if thread.tid == current else "",
        )
        for thread in threads
    ]


def _thread(thread: Thread, width: int, current: bool, room: int) -> Sequence[Part]:
    gil = "GIL " if thread.holds_gil else "wait" if thread.waits_for_gil else "    "
    name, *others = reversed(thread.names)
    name = " ".join([name, *(f"({one})" for one in others)])
    start = f"{'▸' if current else ' '}{thread.tid:>{width}} "
    state = thread.state or ""
    room -= len(start) + 5
    name = fit(name, max(room // 2 if state else room, 8))
    return (
        (start, "number"),
        (f"{gil} ", "good" if thread.holds_gil else "warning"),
        (f"{name} ", "name"),
        (fit(state, max(room - cell_len(name) - 1, 0)), "dim"),
    )


def task_rows(tasks: Tasks) -> list[Row]:
    """A line for each group of tasks that stand at the same place."""
    names = labels(tasks.tasks)
    rows = []
    for group in groups_of(tasks.tasks):
        task, others = group.example, len(group.tasks) - 1
        name = names[task.address] + (f" and {others} more" if others else "")
        rows.append(Row(("task", task.address), partial(_task, task, name, doing(task, names)), task))
    return rows


def _task(task: Task, name: str, text: str, room: int) -> Sequence[Part]:
    start = " task "
    room -= len(start) + 1
    name = fit(f"{name} {task.coroutine}", max(room // 2, 8))
    return (start, "number"), (f"{name} ", "name"), (fit(text, max(room - cell_len(name), 0)), "dim")


def process_rows(views: Sequence[View], current: View) -> list[Row]:
    """The processes of a run; no rows for a run of one process."""
    if len(views) < 2:
        return []
    return [
        Row(
            ("process", view.process.number),
            partial(_process, view, view is current),
            view,
            "selected" if view is current else "",
        )
        for view in views
    ]


def _process(view: View, current: bool, room: int) -> Sequence[Part]:
    session = view.session
    start = f"{'▸' if current else ' '}process {view.process.number} "
    state = "stopped" if view.stopped else session.state.value
    title = view.process.title or "the program"
    return (start, "title"), (fit(f"{session.pid} {state}  {title}", max(room - len(start), 8)), "")


class ThreadsView(RowsView):
    """Enter on a thread or a process selects it; on a task it shows where the task stands."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("Threads are listed when the target stops.", id=id)

    def show_threads(
        self,
        threads: Sequence[Thread],
        current: int | None,
        tasks: Tasks,
        views: Sequence[View],
        shown: View,
    ) -> None:
        """``threads`` and ``tasks`` are those of the process ``shown``, one of ``views``."""
        self.show_rows([*process_rows(views, shown), *thread_rows(threads, current), *task_rows(tasks)])
