"""The tasks of asyncio in a process: found and read in its memory, nothing in it is run.

Where they are found: ``asyncio.tasks._all_tasks`` (3.8 to 3.11), ``_scheduled_tasks`` and ``_eager_tasks`` (3.12 and
later), and from 3.14 on for tasks in C the lists in the interpreter state and in each thread state. asyncio.all_tasks
reads the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...errors import TargetError
from ...model import PythonFrame, Task, Tasks, TaskState
from ...symbols.address_space import Module
from .coroutines import FUTURE_ITERATOR, Coroutines, Standing
from .fields import Fields
from .futures import Futures, TaskLayout, Waiter, task_layout
from .object_text import ObjectText
from .reader import PythonReader, PythonState, PythonThreadState

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


MOST_TASKS = 10_000
_WEAK_SETS, _SETS = ("_all_tasks", "_scheduled_tasks"), ("_eager_tasks",)
_REMOVED = ("object", "<dummy key> type")  # what stands for a removed entry of a set
_RUNNING_LOOP = "__asyncio_running_event_loop__"
_WORDS = re.compile(r"(\d+)")


@dataclass
class _Found:
    """A task while it is read. ``waiters``: those that go on when it is done."""

    address: int
    name: str
    waiters: list[Waiter] = field(default_factory=list)


def read_tasks(
    reader: PythonReader,
    texts: ObjectText,
    python: PythonState,
    states: Mapping[int, PythonThreadState],
    modules: Sequence[Module],
) -> Tasks:
    """Every task that is not done. The process must not run meanwhile. ``states``: its threads by OS thread id.

    What cannot be read is a note of the task or of the whole.
    """
    try:
        return _Reading(reader, texts, python, states, modules).tasks()
    except TargetError as error:
        return Tasks(notes=(error.message,))
    except texts.errors as error:
        return Tasks(notes=(f"the tasks of asyncio cannot be read: {error}",))


class _Reading:
    def __init__(
        self,
        reader: PythonReader,
        texts: ObjectText,
        python: PythonState,
        states: Mapping[int, PythonThreadState],
        modules: Sequence[Module],
    ) -> None:
        self._reader = reader
        self._memory = reader.memory
        self._python = python
        self._states = states
        self._modules = modules
        self._errors = texts.errors
        self._fields = Fields(reader, texts)
        self._notes: list[str] = []

    def tasks(self) -> Tasks:
        namespaces = {
            interpreter: namespace
            for interpreter in dict.fromkeys(thread.interpreter for thread in self._python.threads)
            if (namespace := self._namespace(interpreter))
        }
        if not namespaces:
            return Tasks()
        layout = task_layout(self._reader, self._modules)
        futures = Futures(self._reader, self._fields, layout)
        found = self._pending(futures, self._addresses(namespaces, layout))
        threads = {loop: tid for tid, loop in self._running_loops(layout)}
        rows = _Rows(self._reader, self._fields, futures, self._states, threads, self._errors)
        tasks = [rows.row(one) for one in found]
        tasks = rows.with_waits(tasks, found)
        tasks = TaskLocks(self._fields).with_locks(tasks)
        return Tasks(tuple(sorted(tasks, key=_order)), tuple(self._notes))

    def _namespace(self, interpreter: int) -> int:
        """The dict of the module asyncio.tasks; 0 where it is not imported."""
        modules = self._memory.u64(interpreter + self._reader.layout.modules)
        module = self._fields.entry(modules, "asyncio.tasks")
        return self._fields.member(module, 0) if module else 0

    # -- which there are -------------------------------------------------------------------------

    def _pending(self, futures: Futures, addresses: Iterable[int]) -> list[_Found]:
        found: dict[int, _Found] = {}
        others: dict[str, int] = {}
        for address in addresses:
            if address in found:
                continue
            if len(found) == MOST_TASKS:
                self._notes.append(f"only the first {MOST_TASKS} tasks were read")
                break
            try:
                if not futures.is_task(address):
                    kind = self._fields.kind(address).full_name
                    others[kind] = others.get(kind, 0) + 1
                elif futures.is_pending(address):
                    found[address] = _Found(address, futures.name(address), list(futures.waiters(address)))
            except self._errors as error:
                self._notes.append(f"the task at {address:#x} cannot be read: {error}")
        for kind, count in others.items():
            self._notes.append(
                f"{count} task{'s' if count > 1 else ''} of the type {kind}, which is not known, left out"
            )
        return sorted(found.values(), key=lambda one: _by_number(one.name))

    def _addresses(self, namespaces: Mapping[int, int], layout: TaskLayout) -> Iterator[int]:
        for interpreter, namespace in namespaces.items():
            for name in _WEAK_SETS:
                weak_set = self._fields.entry(namespace, name)
                members = self._fields.attribute(weak_set, "data") if weak_set else None
                for reference in self._fields.set_members(members) if members else ():
                    if self._fields.kind(reference).tp_name.startswith("weakref"):
                        task = self._fields.member(reference, 0)
                        if task and self._fields.kind(task).tp_name != "NoneType":
                            yield task
            for name in _SETS:
                members = self._fields.entry(namespace, name)
                for task in self._fields.set_members(members) if members else ():
                    if self._fields.kind(task).tp_name not in _REMOVED:
                        yield task
            if layout.node:
                yield from self._listed(interpreter + layout.interpreter_tasks, layout.node)
        if layout.node:
            for thread in self._python.threads:
                yield from self._listed(thread.address + layout.thread_tasks, layout.node)

    def _listed(self, head: int, offset: int) -> Iterator[int]:
        """The objects of a list that closes to a ring; ``offset`` is that of its node in each of them."""
        node, seen = self._memory.u64(head), set()
        while node and node != head and node not in seen:  # a thread that has never had a task has no list
            seen.add(node)
            yield node - offset
            node = self._memory.u64(node)

    def _running_loops(self, layout: TaskLayout) -> Iterator[tuple[int, int]]:
        """OS thread id and the loop that it runs."""
        for tid, thread in self._states.items():
            try:
                loop = self._running_loop(thread.address, layout)
            except self._errors as error:
                self._notes.append(f"which loop thread {tid} runs cannot be read: {error}")
                continue
            if loop:
                yield tid, loop

    def _running_loop(self, thread: int, layout: TaskLayout) -> int:
        if layout.thread_loop:
            return self._memory.u64(thread + layout.thread_loop)
        holder = self._fields.entry(self._memory.u64(thread + self._reader.layout.thread_dict), _RUNNING_LOOP)
        if not holder:
            return 0
        is_holder = self._fields.kind(holder).tp_name.endswith("RunningLoopHolder")
        return self._fields.member(holder, 0) if is_holder else holder


class _Rows:
    """Makes the tasks of what was found."""

    def __init__(
        self,
        reader: PythonReader,
        fields: Fields,
        futures: Futures,
        states: Mapping[int, PythonThreadState],
        threads: Mapping[int, int],
        errors: tuple[type[Exception], ...],
    ) -> None:
        self._fields = fields
        self._futures = futures
        self._coroutines = Coroutines(reader, fields)
        self._threads = threads
        self._errors = errors
        self._live = {
            frame.address: (tid, state.frames[: at + 1])
            for tid, state in states.items()
            for at, frame in enumerate(state.frames)
        }

    def row(self, found: _Found) -> Task:
        """One task, without what it waits for."""
        futures, address = self._futures, found.address
        try:
            loop = futures.loop(address)
            loop_type = self._fields.kind(loop).full_name if loop else "?"
            coroutine = futures.coroutine(address)
            row = Task(
                address,
                found.name,
                self._coroutines.name(coroutine) if coroutine else "?",
                TaskState.READY,
                (),
                loop,
                loop_type,
                self._threads.get(loop),
            )
            return self._with_frames(row, coroutine) if coroutine else row
        except self._errors as error:
            return Task(address, found.name, "?", TaskState.READY, (), 0, "?", note=f"not readable: {error}")

    def _with_frames(self, row: Task, coroutine: int) -> Task:
        chain = self._coroutines.chain(coroutine)
        frames = tuple(reversed(chain.frames))
        note = None
        state = TaskState.READY
        if chain.standing is Standing.EXECUTING:
            state = TaskState.RUNNING
            live = self._live.get(self._coroutines.frame(coroutine))
            if live is not None:
                return replace(row, state=state, thread=live[0], frames=live[1])
            note = "the thread that runs it is not found: only its outermost frame is shown"
        elif self._awaits(row.address):
            state = TaskState.WAITING
        elif chain.standing is Standing.CREATED:
            state = TaskState.NOT_STARTED
        if chain.end is not None and chain.end != FUTURE_ITERATOR:
            note = f"it goes on in an object of the type {chain.end}, whose frames are not known"
        return replace(row, state=state, frames=frames, note=note)

    def _awaits(self, task: int) -> int:
        """The future at which a task waits and that is not done yet; else 0."""
        future = self._futures.awaited(task)
        return future if future and self._futures.is_pending(future) else 0

    def with_waits(self, rows: Sequence[Task], found: Sequence[_Found]) -> list[Task]:
        """The tasks with what each waits for, and who waits for it."""
        names = {one.address: one.name for one in found}
        awaited_by: dict[int, list[int]] = {}
        awaits: dict[int, dict[int, str]] = {}
        for one in found:
            waiting = {waiter.task: waiter for waiter in one.waiters if waiter.task in names}
            awaited_by[one.address] = list(waiting)
            for waiter in waiting.values():
                if waiter.last and waiter.last == self._awaits(waiter.task):
                    awaits.setdefault(waiter.task, {})[one.address] = waiter.through
        return [
            replace(
                self._with_wait(row, awaits.get(row.address, {}), names),
                awaited_by=tuple(awaited_by[row.address]),
            )
            for row in rows
        ]

    def _with_wait(self, row: Task, awaited: Mapping[int, str], names: Mapping[int, str]) -> Task:
        """The task with what it waits for. ``awaited``: tasks among it, and by what each is awaited."""
        try:
            future = self._awaits(row.address)
            if not future:
                return row
            gathered = self._futures.gathered(future)
            pending = [one for one in gathered if self._futures.is_pending(one)]
        except self._errors as error:
            return replace(row, waits_for="a future", note=f"what it waits for is not readable: {error}")
        through = next(iter(awaited.values()), None)
        others = 0
        if gathered:
            done = len(gathered) - len(pending)
            words = f"gather of {len(gathered)}" + (f", {done} done" if done else "")
            through, others = "gather", len([one for one in pending if one not in awaited])
        elif future in names:
            words = names[future]
        elif through is not None:
            listed = next(names[one] for one in awaited) if len(awaited) == 1 else f"{len(awaited)} tasks"
            words = f"{through} of {listed}"
        else:
            words, others = "a future", 1
        return replace(row, waits_for=words, awaits=tuple(awaited), through=through, other_futures=others)


def _order(task: Task) -> tuple[object, ...]:
    """By thread and loop, then by name."""
    return task.thread or 0, task.loop, _by_number(task.name), task.address


def _by_number(name: str) -> tuple[tuple[int, str], ...]:
    """Sorts Task-2 before Task-10."""
    return tuple((int(word), "") if word.isdecimal() else (-1, word) for word in _WORDS.split(name))
