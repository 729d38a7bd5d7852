"""What is wrong with tasks of asyncio: rings of tasks, and event loops whose thread stands in a call. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...known.event_loops import is_turn_of_a_loop, runs_what_is_typed
from ...known.python_files import is_of_a_library
from ...model import PythonFrame, Task, TaskState
from ..facts import ProcessReport, ThreadReport
from .finding import Finding
from .sleeps import is_asleep, sleep_in_words
from .telling_frame import place, where
from .waits import Node, Scene, Wait, name_of, process_name

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


_MOST_NAMES = 3
_OF_WAITS = ("lock", "io", "child", "notification", "gpu")  # kinds whose first thread waits in one call


def task_deadlocks(scene: Scene, process: ProcessReport) -> list[Finding]:
    """Rings of tasks in which each goes on only when the next one has."""
    found = stuck(process.tasks.tasks if process.tasks is not None else ())
    findings = []
    for ring in rings(found):
        of_process = f" of {process_name(scene, process.pid)}" if len(scene.processes) > 1 else ""
        if len(ring) == 1:
            heading = (
                f"deadlock: a task{of_process} waits for itself, and cannot go on unless it is cancelled"
            )
        else:
            how = "await each other" if all(task.awaits for task in ring) else "wait for each other"
            heading = (
                f"deadlock: {len(ring)} tasks{of_process} {how}, and none can go on unless one is cancelled"
            )
        lines = [heading]
        for task in ring:
            own = _own_frame(task)
            at = f", in {place(own)}," if own is not None else ""
            lines.append(f"task {task.name}{at} waits for {task.waits_for}")
        tasks = tuple((process.pid, task.address) for task in ring)
        findings.append(Finding("task-deadlock", "\n".join(lines), tasks=tasks))
    return findings


def blocked_loops(scene: Scene, waits: dict[Node, Wait], told: set[Node]) -> list[Finding]:
    """Threads that sleep for a set time within a turn of their event loop. Those that wait for something there are told
    by what that is: see :func:`with_blocked_loops`.
    """
    findings = []
    for process in scene.shown:
        for thread in process.threads:
            node = process.pid, thread.thread.tid
            if node in told or node in scene.moved or not is_asleep(thread):
                continue
            blocked = _blocked(process, thread)
            if blocked:
                text = f"{name_of(scene, node)} {sleep_in_words(thread)}, in {where(thread)}\n{blocked}"
                findings.append(Finding("loop", text, (node,)))
    return findings


def with_blocked_loops(scene: Scene, finding: Finding) -> Finding:
    """The finding; of a wait, with what waits for the thread in turn, where that runs an event loop."""
    if finding.kind not in _OF_WAITS or not finding.threads:
        return finding
    lines = [finding.text]
    for node in finding.threads:
        process, thread = scene.processes[node[0]], scene.threads[node]
        if blocked := _blocked(process, thread):
            lines.append(f"{name_of(scene, node)}: {blocked}" if len(finding.threads) > 1 else blocked)
    return replace(finding, text="\n".join(lines))


def _blocked(process: ProcessReport, thread: ThreadReport) -> str | None:
    """What cannot go on while a thread stands in a turn of its event loop, in words; None where it does not, or where
    nothing else is to run there."""
    tasks = process.tasks.tasks if process.tasks is not None else ()
    of_thread = [task for task in tasks if task.thread == thread.thread.tid]
    running = [task for task in of_thread if task.state is TaskState.RUNNING]
    others = [task for task in of_thread if task.state is not TaskState.RUNNING]
    if not others or not _is_in_turn(thread, running):
        return None
    names = ", ".join(task.name for task in others[:_MOST_NAMES])
    if len(others) > _MOST_NAMES:
        names += f" and {len(others) - _MOST_NAMES} more"
    by = f"in task {running[0].name}" if running else "in a callback"
    tasks_ = "task cannot" if len(others) == 1 else "tasks cannot"
    return f"it is the thread of an event loop, {by}: {len(others)} other {tasks_} go on meanwhile ({names})"


def _is_in_turn(thread: ThreadReport, running: list[Task]) -> bool:
    """Whether a thread is in code that its event loop has called, and no other loop within that."""
    python = [frame for frame in thread.stack.frames if isinstance(frame, PythonFrame)]
    if any(runs_what_is_typed(frame.file) for frame in python):
        return False
    turn = next(
        (turn for frame in python if (turn := is_turn_of_a_loop(frame.function, frame.file)) is not None),
        None,
    )
    return turn if turn is not None else len(running) == 1


def _own_frame(task: Task) -> PythonFrame | None:
    return next((frame for frame in task.frames if not is_of_a_library(frame.file or "")), None)
