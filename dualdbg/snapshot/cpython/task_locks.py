"""Locks of asyncio: for which one a task waits, which ones tasks have, and whether a task's wait may end by itself.

An ``asyncio.Lock`` says nothing of its owner. Who has it is known where the ``async with`` block of a coroutine keeps
the lock's ``__aexit__`` on the value stack of its frame: up to CPython 3.13 as a bound method, from 3.14 on as the
function and, behind it, the object that it is to be called with (``LOAD_SPECIAL``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...model import PythonFrame, Task, TaskState
from .fields import Fields

_LOCK = "class asyncio.locks.Lock"
_FILE = "/asyncio/locks.py"
_ENTER, _EXITS = "__aenter__", ("__exit__", "__aexit__")
# Words in the types of context managers that cancel a task, after a time or for another one's sake: asyncio.Timeout,
# async_timeout's, aiohttp's TimerContext, anyio's CancelScope, trio's Nursery.
_CANCELLING = ("imeout", "imer", "eadline", "Cancel", "TaskGroup", "Nursery")
# What these are for is in a generator: perhaps in one of the above.
_OF_GENERATORS = ("_GeneratorContextManager", "_AsyncGeneratorContextManager")


@dataclass(frozen=True)
class AwaitedLock:
    """A lock for which a task waits. ``enters``: at the beginning of an ``async with`` block, not by ``acquire()``."""

    address: int
    enters: bool


class TaskLocks:
    """Reads those of one process. Frames are those of a task, innermost first, as :class:`Task` has them."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields

    def with_locks(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks, with who has the lock that one waits for, and whether a block of its own may end its wait."""
        waiting = {
            task.address: lock
            for task in tasks
            if task.state is TaskState.WAITING and (lock := self._awaited(task.frames)) is not None
        }
        holders: dict[int, list[Task]] = {}
        for task in tasks if waiting else ():
            for address in self._held(task.frames):
                holders.setdefault(address, []).append(task)
        return [self._with_lock(task, waiting.get(task.address), holders) for task in tasks]

    def _with_lock(self, task: Task, lock: AwaitedLock | None, holders: Mapping[int, Sequence[Task]]) -> Task:
        if lock is not None:
            words, holder = f"the Lock at {lock.address:#x}", None
            if len(found := holders.get(lock.address, ())) == 1:
                holder = found[0]
            # Who has let go within the block, and takes the lock again by acquire(), has it no more.
            if holder is task and not lock.enters:
                holder = None
            if holder is not None:
                words += ", which it has itself" if holder is task else f", which {holder.name} has"
                task = replace(task, lock_holder=holder.address, other_futures=0)
            task = replace(task, waits_for=words)
        if task.awaits or task.lock_holder:
            return replace(task, may_be_cancelled=self._may_be_cancelled(task.frames))
        return task

    def _awaited(self, frames: Sequence[PythonFrame]) -> AwaitedLock | None:
        """The lock at whose ``acquire`` the task stands; None where it waits for something else."""
        if not frames or not _is(frames[0], "acquire"):
            return None
        lock = self._fields.own(frames[0])
        if lock is None or _LOCK not in self._fields.kind(lock).lineage:
            return None
        return AwaitedLock(lock, len(frames) > 1 and _is(frames[1], _ENTER))

    def _held(self, frames: Sequence[PythonFrame]) -> list[int]:
        """The locks whose ``async with`` block the task is in. Of one that it is about to enter it has none yet."""
        found = []
        for at, frame in enumerate(frames):
            own = [lock for lock in self._managers(frame) if _LOCK in self._fields.kind(lock).lineage]
            entering = self._fields.own(frames[at - 1]) if at and _is(frames[at - 1], _ENTER) else None
            if entering is not None and own[-1:] == [entering]:
                own.pop()
            found += own
        return found

    def _may_be_cancelled(self, frames: Sequence[PythonFrame]) -> bool:
        """Whether the task is in a block that may cancel it, as far as the block's type tells."""
        names = [self._fields.kind(one).tp_name for frame in frames for one in self._managers(frame)]
        return any(name in _OF_GENERATORS or any(word in name for word in _CANCELLING) for name in names)

    def _managers(self, frame: PythonFrame) -> list[int]:
        """The context managers whose blocks a frame is in, the outermost first."""
        managers = self._fields.managers(frame)
        return [owner for owner, _, name in managers if name.rpartition(".")[2] in _EXITS]


def _is(frame: PythonFrame, method: str) -> bool:
    return (frame.file or "").endswith(_FILE) and frame.function.rpartition(".")[2] == method
