"""Tasks of asyncio: the coroutines of a program that its event loops run in turns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .frames import PythonFrame


class TaskState(str, Enum):
    """What a task that is not done is about."""

    RUNNING = "running"  # a thread is in it
    WAITING = "waiting"  # what it awaits is not done
    READY = "ready"  # its loop has it run at its next turn
    NOT_STARTED = "not started"


@dataclass(frozen=True)
class Task:
    """A task of asyncio that is not done.

    ``address`` is that of its object, by which tasks name each other. ``coroutine`` is the qualified name of its
    coroutine; for an object of another kind the name of its type. ``frames`` are those of the coroutines that await
    each other, innermost first; of a running task they are the frames of its thread.

    ``loop`` is the address of its event loop, ``loop_type`` the loop's class, ``thread`` the OS thread id of the thread
    that runs the loop now; None where none does, or it is not known.

    ``waits_for`` says in words what it awaits: ``Task-2``, ``gather of 3``, ``a future``. ``awaits`` are the tasks
    among it, ``other_futures`` the number of what else it is known to wait for, and ``through`` says by what: await,
    gather, shield, wait, wait_for, or TaskGroup. ``awaited_by`` are the tasks that await this one. Of one that waits
    for an ``asyncio.Lock`` ``lock_holder`` is the task that has it, where that is known. ``may_be_cancelled``: it is in
    a block that may end its wait, such as ``asyncio.timeout``. ``note`` says what of it could not be read.
    """

    address: int
    name: str
    coroutine: str
    state: TaskState
    frames: tuple[PythonFrame, ...]
    loop: int
    loop_type: str
    thread: int | None = None
    waits_for: str | None = None
    awaits: tuple[int, ...] = ()
    other_futures: int = 0
    through: str | None = None
    awaited_by: tuple[int, ...] = ()
    note: str | None = None
    lock_holder: int | None = None
    may_be_cancelled: bool = False


@dataclass(frozen=True)
class Tasks:
    """The tasks of a process, and what could not be read of them."""

    tasks: tuple[Task, ...] = ()
    notes: tuple[str, ...] = ()
